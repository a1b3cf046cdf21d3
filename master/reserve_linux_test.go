package master

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestTheReserveTakesUpRoomUntilItIsReleased(t *testing.T) {
	for name, take := range map[string]func(*os.File, int64) error{"set aside": takeRoom, "written": writeRoom} {
		f, err := os.Create(filepath.Join(t.TempDir(), "room"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		info, err := f.Stat()
		if err == nil && take(f, reserveLen) == nil {
			info, err = f.Stat()
		}
		if err != nil || info.Size() != reserveLen || info.Sys().(*syscall.Stat_t).Blocks*512 < reserveLen {
			t.Errorf("%s: %d bytes, %d blocks, %v", name, info.Size(), info.Sys().(*syscall.Stat_t).Blocks, err)
		}
	}
	dir := t.TempDir()
	if err := keepReserve(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(reservePath(dir)); err != nil || info.Size() != reserveLen {
		t.Errorf("%v %v", info, err)
	}
	if err := releaseReserve(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(reservePath(dir)); err == nil {
		t.Error("the room is still taken")
	}
}
