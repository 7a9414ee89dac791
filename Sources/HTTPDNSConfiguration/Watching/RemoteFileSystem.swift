#if os(Linux)
#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// File systems that other machines or programs change without the kernel's knowledge, so that it tells nothing of it.
enum RemoteFileSystem {
    /// The numbers of statfs(2): NFS, SMB, SMB2, CIFS, FUSE, 9P, Ceph, AFS, Lustre, Coda, OCFS2, GFS2.
    private static let magicNumbers: Set<UInt32> = [
        0x6969, 0x517b, 0xfe53_4d42, 0xff53_4d42, 0x6573_5546, 0x0102_1997, 0x00c3_6400, 0x5346_414f, 0x0bd0_0bd0,
        0x7375_7245, 0x7461_636f, 0x0116_1970,
    ]

    /// Whether the file, or the folder it would be in, is on one of them.
    static func holds(_ path: String) -> Bool {
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
        return [path, folder].contains { place in
            var status = statfs()
            return statfs(place, &status) == 0
                && magicNumbers.contains(UInt32(truncatingIfNeeded: status.f_type))
        }
    }
}
#endif
