package cdxj

// Sorting with small runs and merging few files at a time, so that tests reach the ways of large indexes.
var (
	SortFileInRuns = sortFile
	MergeFilesBy   = mergeFiles
)
