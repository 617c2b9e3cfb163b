#!/bin/sh
# SPDX-License-Identifier: MIT
# hardened.sh PROGRAM: is it built as docs/security.md says? Read from the file, not from the compiler's options.
set -u
program=$1
failed=0

command -v readelf >/dev/null || { echo "skipped: no readelf (package binutils)"; exit 77; }

# check WHAT PATTERN READELF-OPTION...
check() {
	what=$1 pattern=$2
	shift 2
	if readelf "$@" "$program" | grep -Eq "$pattern"; then
		echo "ok     $what"
	else
		echo "FAILED $what: readelf $* has nothing like $pattern"
		failed=1
	fi
}

check "position independent" 'Type: +DYN' -hW
check "relocations are read-only once it runs" 'GNU_RELRO' -lW
check "all symbols are bound at the start" 'FLAGS.*(BIND_NOW|NOW)' -dW
check "its stack is not executable" 'GNU_STACK.* RW +0x' -lW
check "stack frames have canaries" '__stack_chk_fail' --dyn-syms -W
check "calls of libc check the size of their buffers" '__(mem|str|v?s[np]*rintf|read|recv)[a-z]*_chk' --dyn-syms -W

# Control-flow protection: what the compiler puts at the begin of a function that may be called through a pointer, and the note by
# which the C library and the kernel know that the whole program has it. The linker leaves the note out when one of the C library's
# own start files or a library in the program lacks it.
case $(readelf -hW "$program") in
*X86-64*) landing='endbr64' note='x86 feature: IBT, SHSTK' ;;
*AArch64*) landing='(bti|paciasp|pacibsp)' note='AArch64 feature: BTI, PAC' ;;
*) exit $failed ;;
esac
command -v objdump >/dev/null || { echo "not judged: control-flow protection: no objdump (package binutils)"; exit $failed; }
first=$(objdump -d --no-show-raw-insn --disassemble=main "$program" | grep -A1 '<main>:$' | tail -n 1)
if echo "$first" | grep -Eq "$landing"; then
	echo "ok     control-flow protection: functions begin as it asks for"
else
	echo "FAILED control-flow protection: main begins with \"$first\""
	failed=1
fi
if ! readelf -n "$(${CC:-cc} -print-file-name=Scrt1.o)" | grep -q "$note"; then
	echo "not judged: the note of control-flow protection: the start files of this C library lack it"
elif ! readelf -dW "$program" | grep -q 'NEEDED.*libbpf'; then
	echo "not judged: the note of control-flow protection: libbpf is part of the program, and is not ours"
else
	check "control-flow protection: the program says that it has it" "$note" -n
fi
exit $failed
