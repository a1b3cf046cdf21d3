package cdxj

// SortFileInRuns sorts with small runs, so that tests reach the merge of many.
var SortFileInRuns = sortFile
