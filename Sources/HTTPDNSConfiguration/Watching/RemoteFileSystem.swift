internal import Glibc

/// File systems that other machines or programs change without the kernel's knowledge, so that it sends no events.
enum RemoteFileSystem {
    private static let types: Set<Substring> = [
        "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "ceph", "afs", "lustre", "coda", "ocfs2", "gfs2", "fuse",
    ]

    /// Returns whether the file, or its folder if it is missing, is on one of them.
    static func holds(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        let devices = [path, folder].compactMap(device)
        guard let mounts = try? FileContents.reading("/proc/self/mountinfo"), !devices.isEmpty else { return false }
        return holds(devices: devices, mounts: String(decoding: mounts.bytes, as: UTF8.self))
    }

    /// Returns whether one of the devices (`8:1`) has such a type in the lines of `/proc/self/mountinfo`, see proc(5).
    ///
    /// The third field is the device, the one after the lone dash the type.
    static func holds(devices: [String], mounts: String) -> Bool {
        mounts.split(separator: "\n").contains { line in
            let fields = line.split(separator: " ")
            guard fields.count > 2, devices.contains(String(fields[2])),
                let dash = fields.firstIndex(of: "-"), fields.indices.contains(dash + 1)
            else { return false }
            let type = fields[dash + 1]
            return types.contains(type) || type.hasPrefix("fuse.")
        }
    }

    private static func device(of path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        // As makedev(3) packs them.
        let number = UInt64(status.st_dev)
        let major = (number >> 8 & 0xfff) | (number >> 32 & ~0xfff)
        let minor = (number & 0xff) | (number >> 12 & ~0xff)
        return "\(major):\(minor)"
    }
}
