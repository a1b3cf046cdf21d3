package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	compose "github.com/compose-spec/compose-go/v2/types"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

const deploy = "../../docs/deploy"

// The Kubernetes example is read by the types of Kubernetes itself, which refuse a field that they do not know, and the
// programs that it starts know their flags.
func TestTheKubernetesExampleIsValid(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy, "kubernetes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, document := range strings.Split(string(text), "\n---\n") {
		var kind struct{ Kind string }
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, kind.Kind)
		var object any
		var pod *core.PodSpec
		switch kind.Kind {
		case "Service":
			object = new(core.Service)
		case "StatefulSet":
			set := new(apps.StatefulSet)
			object, pod = set, &set.Spec.Template.Spec
		case "Deployment":
			d := new(apps.Deployment)
			object, pod = d, &d.Spec.Template.Spec
		default:
			t.Fatalf("kind %q", kind.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		if pod == nil {
			continue
		}
		for _, c := range pod.Containers {
			knowsItsFlags(t, c.Name, c.Args)
			for _, m := range c.VolumeMounts {
				if !slices.ContainsFunc(pod.Volumes, func(v core.Volume) bool { return v.Name == m.Name }) &&
					m.Name != "data" { // a claim of the StatefulSet
					t.Errorf("%s mounts %s, which is no volume", c.Name, m.Name)
				}
			}
		}
	}
	if want := []string{"Service", "StatefulSet", "Deployment"}; !slices.Equal(kinds, want) {
		t.Errorf("kinds are %v, want %v", kinds, want)
	}
}

// The Compose example is read by the loader of Compose itself, which validates it against the schema.
func TestTheComposeExampleIsValid(t *testing.T) {
	project, err := loader.LoadWithContext(context.Background(), compose.ConfigDetails{WorkingDir: deploy,
		ConfigFiles: []compose.ConfigFile{{Filename: filepath.Join(deploy, "compose.yaml")}}},
		func(o *loader.Options) { o.SetProjectName("henro", true) })
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range project.Services {
		knowsItsFlags(t, s.Name, s.Command)
	}
	if len(project.Services) != 3 {
		t.Errorf("%d services, want 3", len(project.Services))
	}
}

// knowsItsFlags starts a program with the flags of a container and --help behind them: an unknown one is an error.
func knowsItsFlags(t *testing.T, name string, arguments []string) {
	t.Helper()
	if len(arguments) == 0 || !slices.Contains(programs, arguments[0]) {
		t.Errorf("%s runs %v, which is none of %v", name, arguments, programs)
		return
	}
	cmd := exec.Command("go", append([]string{"run", "./cmd/" + arguments[0]}, append(arguments[1:], "--help")...)...)
	cmd.Dir = "../.."
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) || bytes.Contains(out, []byte("unknown flag")) {
		t.Errorf("%s: %s", name, out)
	}
}
