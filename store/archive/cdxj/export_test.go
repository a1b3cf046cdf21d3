package cdxj

// Sorting with little memory and merging few files at a time, so that tests reach the ways of large indexes.
var (
	SortFileIn   = sortFile
	MergeFilesBy = mergeFiles
)
