package living

import _ "embed" // the script

// Random is a script that goes before those of a page, where it is rendered and where it is replayed: by its address
// it makes chance the same each time. Else each rendering would ask for something new, and the replay for what nobody
// archived.
//
//go:embed random.js
var Random string
