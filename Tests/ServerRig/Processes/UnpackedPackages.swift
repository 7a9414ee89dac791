// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Debian packages that `Scripts/install-dependencies` unpacks and does not install.
public enum UnpackedPackages {
    /// The folder of their files.
    public static let folder = Repository.path(".build/libraries")
    /// The name of the machine in paths of Debian.
    private static let machine = ["x86_64-linux-gnu", "aarch64-linux-gnu"].first {
        access("\(folder)/usr/lib/\($0)", R_OK) == 0
    }

    /// The variables with which their programs find their libraries.
    public static var environment: [String: String] {
        machine.map { ["LD_LIBRARY_PATH": "\(folder)/usr/lib/\($0):\(folder)/lib/\($0)"] } ?? [:]
    }

    /// The folder with libraries and headers of musl; nil without them.
    public static let musl: (libraries: String, headers: String)? = machine.flatMap { machine in
        let name = machine.replacing("gnu", with: "musl")
        let folders = ("\(folder)/usr/lib/\(name)", "\(folder)/usr/include/\(name)")
        return access("\(folders.0)/libc.a", R_OK) == 0 ? folders : nil
    }

    /// Returns the path of a file of theirs, such as `usr/sbin/unbound`; nil without it.
    public static func path(_ file: String) -> String? {
        let path = "\(folder)/\(file)"
        return access(path, R_OK) == 0 ? path : nil
    }
}
