package main

// What the thesis printed (chapter 4; 3 runs each). Rows are 2, 5 and 10 slaves.
var published = struct {
	stats        map[string][3]float64 // table 4.8: pages, links, stop-listed
	perMinute    [3][3]float64         // table 4.9: pages a minute after 30, 60, 90 minutes
	perSlave     [3][3]float64         // table 4.10: the same for one slave
	tasks        [3][3]float64         // table 4.11: pages in 60 minutes with 1, 5, 10 task URLs
	tasksSlave   [3][3]float64         // table 4.12: the same for one slave
	depths       [3][3]float64         // table 4.13: pages in 60 minutes with depth 2, 4, 6
	depthsSlave  [3][3]float64         // table 4.14: the same for one slave
	links        [3][3]float64         // figure 4.4: links after 30, 60, 90 minutes
	linksPerPage float64
	stopShare    float64 // of the totals, as ours is; the 5.4 % that it prints is of its row of maxima
	pagesLinks   float64 // correlation
	pagesStopped float64
}{
	stats: map[string][3]float64{
		"mean": {2849.7, 34639.9, 135.7}, "sd": {2086.1, 26052.7, 115.8}, "range": {7608, 91173, 447},
		"least": {333, 3251, 7},
		"most":  {7941, 94424, 454}, "total": {205177, 2494075, 9767}, "counts": {72, 72, 72},
	},
	perMinute:    [3][3]float64{{17.4, 15.9, 17.3}, {46.4, 31.2, 40.6}, {88.0, 59.4, 70.5}},
	perSlave:     [3][3]float64{{8.7, 7.9, 8.7}, {9.3, 6.2, 8.1}, {8.8, 5.9, 7.0}},
	tasks:        [3][3]float64{{1005.7, 1068.0, 1396.3}, {2031.0, 2336.3, 3466.3}, {5736.7, 5963.7, 6763.0}},
	tasksSlave:   [3][3]float64{{502.8, 534.0, 698.2}, {406.2, 467.3, 693.3}, {573.7, 596.4, 676.3}},
	depths:       [3][3]float64{{1005.7, 852.7, 962.7}, {2168.0, 2600.5, 3358.3}, {5535.3, 6263.0, 5963.7}},
	depthsSlave:  [3][3]float64{{502.8, 426.3, 481.3}, {433.6, 520.1, 671.7}, {553.5, 626.3, 596.4}},
	links:        [3][3]float64{{5957, 9515, 14322}, {17628, 19696, 41545}, {28235, 44074, 76181}},
	linksPerPage: 12.16, stopShare: 9767.0 / (205177 + 9767), pagesLinks: 0.91, pagesStopped: 0.86,
}
