// Package cdx answers queries of an index of captures as the CDX servers of the field do, so that their clients read an
// archive of henro without knowing it.
//
// Two addresses have two dialects, each with its own defaults, filters and forms of answers:
//
//	/web/cdx and /cdx   pywb's: CDXJ, or a JSON object a line; filter=[!][=|~]field:text
//	/web                OutbackCDX': CDX of 11 fields, or arrays of JSON; filter=[~][!]field:expression
//
// Both take url (with * before or behind it) or urlkey, matchType, method and requestBody, from, to, filter, collapse,
// collapseToLast, collapseTime, sort, closest, reverse, limit (a negative one for the last lines), output, fl or
// fields, showResumeKey and resumeKey, page, pageSize and showNumPages. Others are passed over, as there. Not here are
// resolveRevisits (lines of henro's revisits have status and digest), allowFuzzy, access control, and output=link,
// which is /timemap/link/URL.
//
// Invariants: lines are read in a stream, and nothing is kept of them but what is to be sorted, which is bounded; what
// a query may cost is bounded; an answer is whole, or ends with a key by which it goes on, or is cut off so that it is
// not taken for whole. Who asks for more lines than it names gets the first 100,000, as of pywb.
package cdx
