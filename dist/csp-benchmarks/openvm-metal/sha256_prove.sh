#!/usr/bin/env bash
exec "$(dirname "$0")/_prove.sh"
