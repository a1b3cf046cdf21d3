package config

import (
	"os"
	"path/filepath"

	"github.com/sirupsen/logrus"

	"henro/store/archive/cdxj"
	"henro/store/archive/folder"
)

// Refresh brings the merged index of an archive up to date at the end of what wrote into it, and logs what it repaired
// and could not read.
func Refresh(dir string, log *logrus.Entry) {
	r, err := folder.Refresh(dir)
	for _, repaired := range r.Repaired {
		log.WithField("what", repaired.String()).Info("archive is repaired")
	}
	for _, what := range r.Unread {
		Unread(log)(what)
	}
	if err != nil {
		log.WithField("err", err).Warn("the index of the archive is not merged; henro check --repair does it")
	}
}

// RefreshMerged is Refresh for an archive that has a merged index only if it was read here; without one it does
// nothing.
func RefreshMerged(dir string, log *logrus.Entry) {
	if _, err := os.Stat(filepath.Join(dir, cdxj.MergedName)); err == nil {
		Refresh(dir, log)
	}
}
