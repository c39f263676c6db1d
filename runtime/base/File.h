// Small files as a whole. States are never read or written through these.
#pragma once

#include "runtime/base/Status.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace spillway {

/// The bytes of a file of at most `limit` bytes.
Result<std::vector<std::byte>> readFile(const std::filesystem::path &path, uint64_t limit);

/// The error of a file that the user names and that cannot be opened (`what`): a user error where it
/// is not there, is a folder, or may not be opened.
Error openError(int code, const std::string &what);

/// A user error where no file can be made at `path`: its folder is not there or may not be written
/// to, or it names a folder or a device.
Status requireWritable(const std::filesystem::path &path);

/// The same for a folder or file at `path`, whatever is there.
Status requireFolderFor(std::filesystem::path path);

/// Makes `to` a copy of the file `from`, durably: one that shares its blocks until they are written
/// where the file system can, else with bytes of its own. A machine error where they have no room.
Status copyFile(const std::filesystem::path &from, const std::filesystem::path &to);

/// `path`, or where a link there leads. A user error for anything but a regular file, or a name
/// that is free.
Result<std::filesystem::path> replaceableFile(const std::filesystem::path &path);

/// Writes beside the file that `path` names (see replaceableFile), syncs, and renames: after a
/// crash there is the old file or the new one.
Status writeFileAtomically(const std::filesystem::path &path, std::span<const std::byte> bytes);

/// Makes what was written to a file, or what a folder lists, durable.
Status syncFile(const std::filesystem::path &path);

/// Gives a file its name, in place of another one in the same folder: after a crash there is the
/// old file or the new one. What was written to it is durable.
Status renameDurably(const std::filesystem::path &from, const std::filesystem::path &to);

/// Puts the folder `from` in the place of `to`, whose content, if any, is removed: after a crash
/// there is, at `to`, the old folder or the new one, whole (where the file system cannot exchange
/// two names, perhaps neither). Both have the same parent.
Status replaceFolder(const std::filesystem::path &from, const std::filesystem::path &to);

/// Whether `path` names an entry of some folder, and none above or below it.
bool isPlainName(const std::filesystem::path &path);

struct FileFacts {
  uint64_t bytes = 0;
  /// ns since the epoch.
  uint64_t modifiedNs = 0;
};

/// Of a regular file; an error for anything else.
Result<FileFacts> fileFacts(const std::filesystem::path &path);

/// Bytes that an ordinary user may still write to the file system of `folder`.
Result<uint64_t> freeSpace(const std::filesystem::path &folder);

/// A machine error where the file system of `folder` has less room than the `bytes` that `what`
/// (a plural) needs.
Status requireSpace(const std::filesystem::path &folder, uint64_t bytes, const std::string &what);

} // namespace spillway
