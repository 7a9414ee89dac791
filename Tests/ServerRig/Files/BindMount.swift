// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A file or folder that is mounted on itself, as a container mounts a single file. Its last reference ends that.
package final class BindMount: Sendable {
    private let path: String

    /// Whether this process may mount.
    package static let isPossible: Bool = {
        guard geteuid() == 0, let folder = try? TemporaryFolder() else { return false }
        return (try? BindMount(folder.path)) != nil
    }()

    package init(_ path: String) throws {
        try checked("mount", mount(path, path, nil, UInt(MS_BIND), nil))
        self.path = path
    }

    /// Lets nothing in it be written, except in mounts of their own.
    package func makeReadOnly() throws {
        let flags = MS_BIND | MS_REMOUNT | MS_RDONLY
        try checked("mount", mount(nil, path, nil, UInt(flags), nil))
    }

    deinit { umount2(path, Int32(MNT_DETACH)) }
}
