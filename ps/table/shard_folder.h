// Files of a saved shard's folder, whatever they hold.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/parameter_server.pb.h"

namespace tessera {

// The first few names in a folder, for messages: "it holds a, b and 3 more".
std::string ContentsOf(const std::string& folder);

// Makes room for a shard at `directory`: removes an earlier one, refuses a directory that holds anything else, creates the parents.
absl::Status ClearShardFolder(const std::string& directory);

// "NAME_OF_DIRECTORY/file", size and checksum of each file, in order of name. Table files never change, so their checksums are taken from
// `known` (file name to checksum) where they are there; afterwards it holds those of this directory and no others.
absl::StatusOr<std::vector<SavedFile>> DescribeShardFolder(const std::string& directory, std::map<std::string, std::string>* known);

}  // namespace tessera
