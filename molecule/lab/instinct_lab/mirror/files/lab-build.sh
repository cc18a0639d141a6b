#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# @LABEL@
# The "build" of the driver: copies ready modules that hold a version and no code. Like the real driver of this
# release it fails on kernels that are too new for it.
set -eu
kernel=$1
for bad in @FAILS_ON@; do
    case "$kernel" in
    "$bad"*)
        echo "lab stand-in: this driver does not build for kernel $kernel" >&2
        exit 2
        ;;
    esac
done
for module in @MODULES@; do
    cp "ready/$module.ko.ready" "$module.ko"
done
