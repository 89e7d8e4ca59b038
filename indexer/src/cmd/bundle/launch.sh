#!/bin/sh
# Starts the program for this machine. Some hosts take away the right to run when they unpack: it is given back here.
set -u
here=${0%/*}
case "$(uname -s)-$(uname -m)" in
# PLATFORMS
*) target= ;;
esac
if [ -z "$target" ] || [ ! -f "$here/$target/wakashu-function" ]; then
  echo "この和歌集には、このコンピューター（$(uname -s) $(uname -m)）で動くプログラムが入っていません。" >&2
  echo "This bundle has no program for this computer ($(uname -s) $(uname -m))." >&2
  exit 1
fi
program=$here/$target/wakashu-function
if [ ! -x "$program" ] && ! chmod u+x "$program"; then
  echo "プログラムに実行の許可を与えられませんでした: $program" >&2
  echo "The program may not be run: $program" >&2
  exit 1
fi
# A setting that was left empty arrives as its own name.
# shellcheck disable=SC2016
case "${BUNDLE_ARCHIVE:-}" in
'' | '${'*) ;;
*) set -- "$BUNDLE_ARCHIVE" ;;
esac
exec "$program" stdio "$@"
