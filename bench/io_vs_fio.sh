#!/usr/bin/env bash
# The io_uring engine beside fio, interleaved: ratios of medians over the rounds.
#   bench/io_vs_fio.sh BUILD [FOLDER] [ROUNDS] [SIZE in MiB]
set -euo pipefail
build=${1:?usage: io_vs_fio.sh BUILD [FOLDER] [ROUNDS] [SIZE in MiB]}
folder=$(mktemp -d -p "${2:-.}" io-bench-XXXXXX)
trap 'rm -rf "$folder"' EXIT
rounds=${3:-5}
mib=${4:-1024}
block=1
depth=16
file=$folder/data

ours() { # direction
  local flag=; [ "$1" = write ] && flag=--write
  "$build/bin/io_bench" "$file" --engine uring $flag --bytes "${mib}MiB" --block "${block}MiB" --depth $depth
}

fio_once() { # direction
  fio --name=x --filename="$file" --rw="$1" --bs="${block}m" --iodepth=$depth --ioengine=io_uring --direct=1 \
      --size="${mib}m" --output-format=json 2>/dev/null |
    python3 -c '
import json, sys
job = json.load(sys.stdin)["jobs"][0]
side = job[sys.argv[1]]
seconds = side["runtime"] / 1e3
gigabytes = side["io_bytes"] / 1e9
cpu = (job["usr_cpu"] + job["sys_cpu"]) / 100 * job["job_runtime"]
print(f"engine=fio direction={sys.argv[1]} GB/s={gigabytes / seconds:.3f} cpu_ms/GB={cpu / gigabytes:.2f}")' "$1"
}

"$build/bin/io_bench" "$file" --engine uring --write --bytes "${mib}MiB" > /dev/null
for direction in read write; do
  for ((round = 0; round < rounds; ++round)); do
    ours $direction
    fio_once $direction
  done
done | tee "$folder/lines"

for direction in read write; do
  "$build/bin/io_bench" "$file" --engine uring $([ $direction = write ] && echo --write) \
    --bytes "$((mib / 4))MiB" --block "${block}MiB" --depth $depth --throttle 100MB
done | tee -a "$folder/lines"

python3 - "$folder/lines" <<'PYTHON'
import statistics, sys
lines = [dict(part.split("=") for part in line.split()) for line in open(sys.argv[1])]
def median(engine, direction, key):
    return statistics.median(float(line[key]) for line in lines
                             if line["engine"] == engine and line["direction"] == direction
                             and key in line and ("of_throttle" in line) == (key == "of_throttle"))
for direction in ("read", "write"):
    ratio = lambda key: median("uring", direction, key) / median("fio", direction, key)
    print(f"{direction}: bandwidth over fio {ratio('GB/s'):.2f}, CPU per GB over fio {ratio('cpu_ms/GB'):.2f} "
          f"(at most 1.2), in flight over depth {median('uring', direction, 'in_flight/depth'):.3f} (at least 0.9), "
          f"share of the throttle {median('uring', direction, 'of_throttle'):.4f} (at least 0.98)")
PYTHON
