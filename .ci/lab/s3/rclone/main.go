// Command rclone is rclone with one command, its serve s3, and one store, a local folder: rclone s3 FLAGS FOLDER.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	"github.com/rclone/rclone/cmd"
	"github.com/rclone/rclone/cmd/serve/s3"
)

func main() {
	cmd.Root.AddCommand(s3.Command)
	cmd.Main()
}
