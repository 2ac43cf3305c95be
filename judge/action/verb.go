package action

import (
	"regexp"
	"slices"
	"strings"
)

var readVerbs = set(`cat head tail less more ls dir pwd echo printf grep rg egrep fgrep wc sort uniq cut tr diff cmp file stat du df ps top printenv
	which whereis type whoami id date uname hostname tree jq test [ true false cd sleep basename dirname realpath readlink md5sum sha1sum sha256sum
	column nl od xxd strings ping dig nslookup host seq expr history journalctl free uptime lsof netstat ss bat get-content get-childitem select-string
	pdftotext pdfinfo comm join paste fold rev tac zcat zgrep export set local return exit break continue fi done in for case esac read`)

var changeVerbs = set(`mkdir touch cp mv ln tee chmod chown chgrp install rsync scp sftp unzip zip gzip gunzip patch useradd usermod passwd kill pkill killall
	wget mail sendmail mount umount iptables ufw crontab at mkfifo split new-item set-content out-file copy-item move-item rename-item`)

var destroyVerbs = set(`rm rmdir shred unlink dd truncate shutdown reboot poweroff halt userdel wipefs fdisk del erase rd remove-item clear-content`)

// verbs of commands that have sub-commands; what is not listed is unknown.
var subVerbs = map[string]map[string]Effect{
	"git": {
		"status": ReadOnly, "log": ReadOnly, "diff": ReadOnly, "show": ReadOnly, "blame": ReadOnly, "rev-parse": ReadOnly, "ls-files": ReadOnly,
		"describe": ReadOnly, "grep": ReadOnly, "shortlog": ReadOnly, "reflog": ReadOnly, "cat-file": ReadOnly, "ls-remote": ReadOnly,
		"add": Changing, "commit": Changing, "push": Changing, "merge": Changing, "rebase": Changing, "checkout": Changing, "switch": Changing,
		"pull": Changing, "fetch": Changing, "clone": Changing, "init": Changing, "apply": Changing, "cherry-pick": Changing, "revert": Changing,
		"mv": Changing, "restore": Changing, "reset": Changing, "am": Changing, "clean": Destructive, "rm": Destructive, "filter-branch": Destructive,
	},
	"kubectl": {
		"get": ReadOnly, "describe": ReadOnly, "logs": ReadOnly, "top": ReadOnly, "explain": ReadOnly, "version": ReadOnly, "diff": ReadOnly,
		"apply": Changing, "create": Changing, "patch": Changing, "scale": Changing, "rollout": Changing, "set": Changing, "label": Changing,
		"annotate": Changing, "cordon": Changing, "expose": Changing, "delete": Destructive, "drain": Destructive,
	},
	"docker": {
		"ps": ReadOnly, "images": ReadOnly, "logs": ReadOnly, "inspect": ReadOnly, "version": ReadOnly, "info": ReadOnly, "stats": ReadOnly,
		"run": Changing, "build": Changing, "push": Changing, "pull": Changing, "stop": Changing, "start": Changing, "restart": Changing,
		"tag": Changing, "cp": Changing, "rm": Destructive, "rmi": Destructive, "prune": Destructive, "kill": Changing,
	},
	"terraform": {
		"plan": ReadOnly, "show": ReadOnly, "validate": ReadOnly, "output": ReadOnly, "version": ReadOnly, "init": Changing, "apply": Changing,
		"import": Changing, "destroy": Destructive,
	},
	"helm":      {"list": ReadOnly, "status": ReadOnly, "get": ReadOnly, "install": Changing, "upgrade": Changing, "rollback": Changing, "uninstall": Destructive, "delete": Destructive},
	"systemctl": {"status": ReadOnly, "is-active": ReadOnly, "list-units": ReadOnly, "start": Changing, "stop": Changing, "restart": Changing, "reload": Changing, "enable": Changing, "disable": Changing},
	"npm":       {"ls": ReadOnly, "list": ReadOnly, "view": ReadOnly, "outdated": ReadOnly, "install": Changing, "i": Changing, "ci": Changing, "publish": Changing, "uninstall": Changing, "update": Changing},
	"pip":       {"list": ReadOnly, "show": ReadOnly, "freeze": ReadOnly, "install": Changing, "uninstall": Changing},
	"apt-get":   {"install": Changing, "remove": Changing, "update": Changing, "upgrade": Changing, "purge": Destructive},
	"go":        {"version": ReadOnly, "list": ReadOnly, "env": ReadOnly, "vet": ReadOnly, "doc": ReadOnly, "install": Changing, "get": Changing},
	"tar":       {"tf": ReadOnly, "-tf": ReadOnly, "tvf": ReadOnly, "-tvf": ReadOnly, "xf": Changing, "-xf": Changing, "xzf": Changing, "-xzf": Changing, "czf": Changing, "-czf": Changing},
}

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}

// ofVerb classifies a command by its verb and arguments.
func ofVerb(verb string, rest []string) (effect Effect, name string, sends bool) {
	has := func(flags ...string) bool {
		return slices.ContainsFunc(rest, func(w string) bool { return slices.Contains(flags, w) })
	}
	switch verb {
	case "find":
		switch {
		case has("-delete"):
			return Destructive, "find -delete", false
		case has("-exec", "-execdir", "-ok"):
			at := slices.IndexFunc(rest, func(w string) bool { return strings.HasPrefix(w, "-exec") || w == "-ok" })
			if at+1 < len(rest) {
				inner, name, sends := ofVerb(strings.ToLower(rest[at+1]), rest[at+2:])
				return inner, "find -exec " + name, sends
			}
			return Unknown, verb, false
		}
		return ReadOnly, verb, false
	case "sed", "yq", "perl":
		if slices.ContainsFunc(rest, func(w string) bool {
			return strings.HasPrefix(w, "-i") || w == "--in-place" || strings.HasPrefix(w, "-pi")
		}) {
			return Changing, verb + " -i", false
		}
		if verb == "perl" {
			return Unknown, verb, false
		}
		return ReadOnly, verb, false
	case "awk", "gawk":
		if slices.ContainsFunc(rest, func(w string) bool { return strings.Contains(w, "system(") || strings.Contains(w, ">") }) {
			return Unknown, verb, false
		}
		return ReadOnly, verb, false
	case "curl", "http":
		return curl(verb, rest)
	case "psql", "mysql", "sqlite3", "duckdb":
		return sql(verb, strings.Join(rest, " "))
	case "aws", "gcloud", "az", "gh":
		return cloud(verb, rest)
	case "pip3":
		verb = "pip"
	case "apt", "yum", "dnf", "apk", "brew":
		verb = "apt-get"
	case "pnpm", "yarn":
		verb = "npm"
	}
	if strings.HasPrefix(verb, "mkfs") {
		return Destructive, verb, false
	}
	if subs, ok := subVerbs[verb]; ok {
		return sub(verb, subs, rest)
	}
	switch {
	case destroyVerbs[verb]:
		return Destructive, verb, false
	case changeVerbs[verb]:
		return Changing, verb, verb == "scp" || verb == "mail" || verb == "sendmail" || verb == "sftp" || verb == "rsync" && strings.Contains(strings.Join(rest, " "), ":")
	case readVerbs[verb]:
		return ReadOnly, verb, false
	}
	return Unknown, verb, false
}

func sub(verb string, subs map[string]Effect, rest []string) (Effect, string, bool) {
	i := 0
	for i < len(rest) && strings.HasPrefix(rest[i], "-") && subs[rest[i]] == Unknown {
		if slices.Contains([]string{"-C", "-n", "--namespace", "--context", "-c", "-H"}, rest[i]) {
			i++
		}
		i++
	}
	if i >= len(rest) {
		return Unknown, verb, false
	}
	name, args := verb+" "+rest[i], rest[i+1:]
	effect := subs[rest[i]]
	if verb == "git" {
		switch {
		case rest[i] == "push" && slices.ContainsFunc(args, func(w string) bool { return strings.HasPrefix(w, "--force") || w == "-f" || w == "--delete" }),
			rest[i] == "reset" && slices.Contains(args, "--hard"),
			rest[i] == "checkout" && slices.Contains(args, "--"),
			rest[i] == "branch" && slices.Contains(args, "-D"):
			effect = Destructive
		case rest[i] == "branch" && !slices.ContainsFunc(args, func(w string) bool { return !strings.HasPrefix(w, "-") }):
			effect = ReadOnly
		}
	}
	if (rest[i] == "prune" || len(args) > 0 && args[0] == "prune") && verb == "docker" {
		effect = Destructive
	}
	return effect, name, rest[i] == "push" || rest[i] == "publish"
}

func curl(verb string, rest []string) (Effect, string, bool) {
	effect, sends := ReadOnly, false
	for i, w := range rest {
		next := ""
		if i+1 < len(rest) {
			next = strings.ToUpper(rest[i+1])
		}
		method := ""
		switch {
		case w == "-X" || w == "--request":
			method = next
		case strings.HasPrefix(w, "-X"):
			method = strings.ToUpper(w[2:])
		case strings.HasPrefix(w, "--request="):
			method = strings.ToUpper(w[len("--request="):])
		case strings.HasPrefix(w, "-d"), strings.HasPrefix(w, "--data"), strings.HasPrefix(w, "-F"), strings.HasPrefix(w, "--form"), w == "--json",
			strings.HasPrefix(w, "-T"), w == "--upload-file":
			effect, sends = max(effect, Changing), true
		case w == "-o" || w == "-O" || w == "--output":
			effect = max(effect, Changing)
		}
		switch method {
		case "POST", "PUT", "PATCH":
			effect, sends = max(effect, Changing), true
		case "DELETE":
			effect, sends = Destructive, true
		}
	}
	return effect, verb, sends
}

var (
	sqlDestroy = regexp.MustCompile(`(?i)\b(drop|delete\s+from|truncate)\b`)
	sqlChange  = regexp.MustCompile(`(?i)\b(insert|update|alter|create|grant|revoke|copy|replace|merge|call)\b`)
	sqlRead    = regexp.MustCompile(`(?i)\b(select|show|describe|explain|\\d)\b`)
)

func sql(verb, args string) (Effect, string, bool) {
	switch {
	case sqlDestroy.MatchString(args):
		return Destructive, verb, false
	case sqlChange.MatchString(args):
		return Changing, verb, false
	case sqlRead.MatchString(args):
		return ReadOnly, verb, false
	}
	return Unknown, verb, false
}

// cloud classifies command lines of cloud tools by the verbs among their first words.
func cloud(verb string, rest []string) (Effect, string, bool) {
	for _, w := range rest[:min(len(rest), 5)] {
		if strings.HasPrefix(w, "-") {
			continue
		}
		first, _, _ := strings.Cut(strings.ToLower(w), "-")
		switch first {
		case "ls", "list", "describe", "get", "view", "status", "show", "whoami", "diff":
			return ReadOnly, verb + " " + w, false
		case "rm", "rb", "delete", "terminate", "remove", "destroy", "purge":
			return Destructive, verb + " " + w, false
		case "create", "put", "update", "cp", "mv", "sync", "mb", "set", "add", "deploy", "start", "stop", "reboot", "attach", "detach", "merge", "run", "modify", "edit", "close":
			return Changing, verb + " " + w, first == "cp" || first == "sync" || first == "put"
		}
	}
	return Unknown, verb, false
}
