package store

import (
	"io/fs"
	"syscall"
	"time"
)

func identify(info fs.FileInfo) identity {
	id := identity{size: info.Size(), mtime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		id.dev, id.ino = uint64(st.Dev), uint64(st.Ino) //nolint:unconvert // the types differ between platforms
		id.ctime = st.Ctim.Nano()
	}
	id.coarseSeconds = max(id.mtime, id.ctime)%int64(time.Second) == 0
	return id
}
