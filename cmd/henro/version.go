package main

// version is set by the linker (-X main.version=…) in releases.
var version = "dev"
