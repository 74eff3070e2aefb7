#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whatever is wrong with em3d's arguments or mesh: exit status 2, one line on standard error that
# begins with "em3d: ", nothing on standard output, on every machine. Argument: the program.
set -u
program=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect TEXT ARGUMENT...: the line must contain TEXT.
expect() {
    local text=$1 machine
    shift
    for machine in threads:2 threads:3@2 processes:2; do
        SELION_MACHINE=$machine "$program" "$@" >"$folder/out" 2>"$folder/err"
        local status=$?
        if [[ $status -ne 2 || -s $folder/out || $(wc -l <"$folder/err") -ne 1 ]] ||
            ! grep -qF -- "$text" "$folder/err" || ! grep -q '^em3d: ' "$folder/err"; then
            failures=$((failures + 1))
            printf '%s on %s: status %s, expected 2 and one line with "%s"\n' \
                "$*" "$machine" "$status" "$text"
            cat "$folder/out" "$folder/err"
        fi
    done
}

make_file() { printf '%b' "$2" >"$folder/$1"; }

header='ply
format ascii 1.0
element vertex 3
property float x
property float y
property float z
element face 1
property list uchar int vertex_indices
end_header
'
make_file empty.ply ''
make_file text.ply 'hello\nworld\n'
make_file cut.ply "${header}0 0 0\n1 0\n"
make_file range.ply "${header}0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n"
make_file flat.ply "${header}0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n"
make_file nan.ply "${header}0 0 0\n1 0 nan\n2 0 0\n3 0 1 2\n"
make_file huge.ply "${header/vertex 3/vertex 9000000000000000000}0 0 0\n"
make_file binary.ply "${header/ascii/binary_little_endian}0123456789"
make_file none.obj 'v 0 0 0\nv 1 0 0\nv 0 1 0\n'
make_file range.obj 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n'

expect "$folder/absent.ply: no such file" --mesh "$folder/absent.ply"
expect "$folder: is a directory" --mesh "$folder"
expect "$folder/empty.ply:1: the file is empty" --mesh "$folder/empty.ply"
expect "$folder/text.ply:1: not a PLY file" --mesh "$folder/text.ply"
expect "$folder/cut.ply:11: the line ends within 'vertex' 1 of 3" --mesh "$folder/cut.ply"
expect "$folder/range.ply:13: face 0 names vertex 9" --mesh "$folder/range.ply"
expect "$folder/flat.ply:13: face 0 has no area" --mesh "$folder/flat.ply"
expect "$folder/nan.ply:11: vertex 1 has a coordinate" --mesh "$folder/nan.ply"
expect "$folder/huge.ply:10: the file ends before 'vertex' 1 of 9" --mesh "$folder/huge.ply"
expect "$folder/binary.ply: byte " --mesh "$folder/binary.ply"
expect "$folder/none.obj:3: the mesh has no faces" --mesh "$folder/none.obj"
expect "$folder/range.obj:4: face 1 names vertex 4" --mesh "$folder/range.obj"
expect "choose one graph" --verify
expect "--iterations must be a whole number" --random --iterations 4294967295
expect "--nodes must be a whole number" --random --nodes many

if [[ $failures -gt 0 ]]; then
    echo "$failures cases failed"
    exit 1
fi
echo "every case is one sentence"
