package tables

// Tables returns all tables.
func Tables() []*Table { return []*Table{Pages(), Links(), Hosts(), Captures(), StopList()} }
