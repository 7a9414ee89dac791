// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// Debian's libnss-resolve, as `Scripts/install-dependencies` unpacks it.
public enum NameServiceLibrary {
    /// The folder with the library; nil without one.
    public static let folder: String? = ["x86_64-linux-gnu", "aarch64-linux-gnu"]
        .map { Repository.path(".build/libraries/usr/lib/\($0)") }
        .first { access("\($0)/libnss_resolve.so.2", R_OK) == 0 }

    /// The variables with which programs find it.
    public static var environment: [String: String] { folder.map { ["LD_LIBRARY_PATH": $0] } ?? [:] }

    /// Whether programs can get a mount namespace, and the library is there.
    public static let isUsable: Bool = folder != nil && BindMount.isPossible
}
