package messages

// IgnoreDeadLetterLogging says that a report for a reader who has just gone is nothing to worry about.
func (*TraceReported) IgnoreDeadLetterLogging() {}
