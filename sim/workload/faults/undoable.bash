# SPDX-License-Identifier: MIT
#
# For the scripts slow-*: what a run changes on the machine is undone at its end, or, when it was killed, by the next
# run of the same script. A run has a directory; the script's function `undo DIRECTORY` undoes what the directory
# stands for.

name=$(basename "$0")
base=${TMPDIR:-/tmp}/rankwatch-$name
here=$(dirname "$(readlink -f "$0")")

say() { echo "$name: $*" >&2; }

# A directory whose lock is free belongs to a run that was killed.
undo_stale()
{
	local left
	for left in "$base".*; do
		[ -O "$left" ] && [ ! -L "$left" ] && [ -e "$left/lock" ] || continue
		flock -n "$left/lock" true && say "undoing what a killed run left in $left" && undo "$left"
	done
}

# Makes the run's directory, $dir. It gets its name with the lock held: until then others would take it for a killed
# run's.
begin_run()
{
	local new
	undo_stale
	new=$(mktemp -d "$base-new.XXXXXX") && exec {lock}> "$new/lock" && flock -n "$lock" && chmod 711 "$new" || exit 1
	dir=$base.${new##*.}
	mv "$new" "$dir" || exit 1
	trap 'undo "$dir"' EXIT
}

# Runs the command and ends with its status; it ends with us.
run_command()
{
	local child status
	setpriv --pdeathsig TERM -- "$@" <&0 {lock}>&- &
	child=$!
	trap 'kill -TERM $child' TERM INT HUP
	while wait $child; status=$?; kill -0 $child 2>/dev/null; do :; done
	exit $status
}
