#!/usr/bin/env python3
"""Keeps the shape of the tree: include direction, one home per dependency, file length, banned calls.

check_tree.py ROOT   prints one line per breach and exits 1 if there is any.
"""
import os
import re
import sys

TOP = {"CMakeLists.txt", "CMakePresets.json", "LICENSE", "README.md", "common", "deploy", "proto", "ps", "tests", "tools", "worker"}
FOLDERS = ("proto", "common", "ps", "worker", "tools", "tests")
MAY_INCLUDE = {
    "proto": {"proto"},
    "common": {"proto", "common"},
    "ps": {"proto", "common", "ps"},
    "worker": {"proto", "common", "worker"},
    "tools": {"proto", "common", "ps", "worker", "tools"},
    "tests": set(FOLDERS),
}
# what is included -> where alone that may stand (regular expressions over the path)
HOMES = {
    r"rocksdb/": r"^ps/table/(state_db\.cc|rocksdb_(options|resumption)\.(h|cc))$|^tests/bench/",
    r"(dnnl|oneapi/dnnl)": r"^worker/compute/cpu/|^tests/bench/",
    r"(cuda|cublas|cudnn)": r"^worker/compute/cuda/",
    r"yaml-cpp/": r"^common/job/[^/]*\.cc$",
    r"(grpcpp|grpc)/|.*\.grpc\.pb\.h": r"^common/rpc/|_(service|client)\.(h|cc)$|(^|/)main\.cc$",
    r"zlib\.h": r"^worker/data/gzip_decoder\.cc$|^tests/",
    r"zstd\.h": r"^worker/data/zstd_decoder\.cc$|^tests/",
    r"CLI/": r"^tools/|(^|/)main\.cc$",
    r"spdlog/": r"^common/log\.cc$",
    r"absl/synchronization/mutex\.h": r"^$",
}
BANNED = {
    r"\b(sleep_for|sleep_until|usleep|nanosleep|absl::SleepFor)\b": r"^common/clock\.cc$|^tests/tidy/",
    r"\babsl::Now\(\)|\bsystem_clock::now\b": r"^common/clock\.cc$",
    r"\.detach\(\)": r"^$",
    r"\bTODO\b|\bFIXME\b": r"^tests/tidy/",
}
LINES_MAX = 300
# Longer files and the reason.
LONG = {}

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^">]+)[">]')


def sources(root):
    for top in FOLDERS:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith((".h", ".cc", ".cu", ".cuh", ".proto", ".py")):
                    yield os.path.relpath(os.path.join(folder, name), root)


def check_file(root, path):
    text = open(os.path.join(root, path), encoding="utf-8").read()
    lines = text.split("\n")
    if len(lines) > LINES_MAX + 1 and path not in LONG and not path.startswith("tests/"):
        yield f"{path}: {len(lines) - 1} lines, at most {LINES_MAX}: is there a second idea in it?"
    top = path.split("/")[0]
    for number, line in enumerate(lines, 1):
        where = f"{path}:{number}"
        match = INCLUDE.match(line)
        if match:
            target = match.group(1)
            folder = target.split("/")[0]
            if folder in FOLDERS and folder not in MAY_INCLUDE[top]:
                yield f"{where}: {top} may not include {target}: includes go proto, common, ps | worker, tools, tests"
            for what, home in HOMES.items():
                if re.match(what, target) and not re.search(home, path):
                    yield f"{where}: {target} has its home elsewhere ({home})"
        for what, home in BANNED.items():
            if re.search(what, line) and not re.search(home, path):
                yield f"{where}: {re.search(what, line).group(0)} is not used here"


def main():
    root = sys.argv[1]
    breaches = [f"{name}: not one of the fixed top-level entries" for name in sorted(os.listdir(root))
                if not name.startswith(".") and not name.startswith("build") and name not in TOP | {"runs"}]
    files = list(sources(root))
    for path in files:
        breaches += check_file(root, path)
    for folder in sorted({os.path.dirname(path) for path in files if not path.startswith("tests/")}):
        if not os.path.exists(os.path.join(root, folder, "README.md")):
            breaches.append(f"{folder}: no README.md that says what lives here")
    print("\n".join(breaches) if breaches else f"{len(files)} files keep the shape of the tree")
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
