// Package docs carries those pages of this directory that the programs show themselves. They are the files that people
// read here: there is no second copy.
package docs

import _ "embed" // puts the file into the program

// OpenAPI describes what nodes answer over HTTP.
//
//go:embed openapi.yaml
var OpenAPI string
