#!/bin/sh
# Compiles what is newer than the last build.
set -e
mkdir -p classes/org/commonmark/internal/util
newer=
if [ -e classes/stamp ]; then newer="-newer classes/stamp"; fi
touch classes/begun
files=$(find org bench -name '*.java' $newer)
if [ -n "$files" ]; then javac -g -nowarn -cp classes -d classes $files; fi
cp org/commonmark/internal/util/*.properties classes/org/commonmark/internal/util/
mv classes/begun classes/stamp
