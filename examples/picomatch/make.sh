#!/bin/sh
# Makes history.bundle again: releases of picomatch from the npm registry, then the commits of this folder on top.
# Dates and names are fixed, so that every run makes the same commits.
# Needs git, npm and tar.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export GIT_AUTHOR_NAME='perfblame examples' GIT_AUTHOR_EMAIL=examples@perfblame.invalid
export GIT_COMMITTER_NAME=$GIT_AUTHOR_NAME GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1

git init -q -b main "$work/repo"
cd "$work/repo"
day=1
for version in 2.2.2 2.3.1 3.0.1 4.0.2; do
    (cd "$work" && npm pack --silent "picomatch@$version" >/dev/null)
    git rm -rq --ignore-unmatch .
    tar xzf "$work/picomatch-$version.tgz" --strip-components=1
    day=$((day + 1))
    GIT_AUTHOR_DATE="2026-01-0${day}T00:00:00Z" GIT_COMMITTER_DATE="2026-01-0${day}T00:00:00Z"
    export GIT_AUTHOR_DATE GIT_COMMITTER_DATE
    git add -A
    git commit -q -m "picomatch $version"
    git tag "v$version"
done
unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE

apply() { git am -q --committer-date-is-author-date "$@"; }
apply "$here"/commits/0001-*
git tag bench
apply "$here"/commits/000[2-5]-*
git tag innocent
apply "$here"/commits/0006-*
git checkout -q -b later
apply "$here"/commits/000[7-9]-*
git checkout -q main
# One thread: several would pack differently each time.
git -c pack.threads=1 bundle create -q "$here/history.bundle" HEAD --branches --tags
git log --oneline --graph --branches
