package config

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/sirupsen/logrus"
	"gopkg.in/natefinch/lumberjack.v2"

	"henro/messages/visible"
)

// KeepLog makes a logger write to DIR/logs/NAME.log too, as JSON and from info on, whatever is shown, so that a night's
// crawl can be looked into in the morning. Five files of 10 MB are kept. Close it at the end.
func KeepLog(log *logrus.Entry, dir, name string) io.Closer {
	file := &lumberjack.Logger{Filename: filepath.Join(dir, "logs", name+".log"), MaxSize: 10, MaxBackups: 4}
	log.Logger.AddHook(&logFile{file: visible.To(file, false), formatter: &logrus.JSONFormatter{}})
	if !log.Logger.IsLevelEnabled(logrus.InfoLevel) { // the screen shows less than the file keeps
		log.Logger.SetFormatter(&quieter{Formatter: log.Logger.Formatter, level: log.Logger.GetLevel()})
		log.Logger.SetLevel(logrus.InfoLevel)
	}
	return file
}

// logFile is the hook that writes to the file.
type logFile struct {
	file      io.Writer
	formatter logrus.Formatter
}

// Levels are those that the file keeps.
func (*logFile) Levels() []logrus.Level { return logrus.AllLevels[:logrus.InfoLevel+1] }

// Fire writes one line.
func (l *logFile) Fire(entry *logrus.Entry) error {
	line, err := l.formatter.Format(entry)
	if err != nil {
		return fmt.Errorf("format a line of the log: %w", err)
	}
	if _, err := l.file.Write(line); err != nil {
		return fmt.Errorf("write the log: %w", err)
	}
	return nil
}

// quieter shows nothing of what is below its level.
type quieter struct {
	logrus.Formatter
	level logrus.Level
}

// Format formats what is shown.
func (q *quieter) Format(entry *logrus.Entry) ([]byte, error) {
	if entry.Level > q.level {
		return nil, nil
	}
	return q.Formatter.Format(entry)
}
