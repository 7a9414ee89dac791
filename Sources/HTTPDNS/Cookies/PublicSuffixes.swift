// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The Public Suffix List: the domains below which anyone can register a name, such as `com`, `co.uk` and `github.io`.
///
/// The list is that of libpsl, which is loaded at run time, since libcurl's package depends on it on Debian and Ubuntu.
struct PublicSuffixes: Sendable {
    /// The source of the list, such as `libpsl 0.21.2`; the reason without one.
    let source: String
    private let contains: (@Sendable (String) -> Bool)?

    /// Whether there is a list.
    var isAvailable: Bool { contains != nil }

    /// - Parameter contains: Whether a name in lower-case A-labels is a public suffix; nil without a list.
    init(source: String, contains: (@Sendable (String) -> Bool)?) {
        self.source = source
        self.contains = contains
    }

    /// The list of the system, loaded once for each process.
    static let system = loaded(from: "libpsl.so.5")

    /// A missing list.
    static func missing(_ reason: String) -> PublicSuffixes { PublicSuffixes(source: reason, contains: nil) }

    /// Whether a name is a public suffix. Without a list every name is one: no cookie is shared then.
    func isPublicSuffix(_ name: String) -> Bool { contains?(name) ?? true }

    /// Returns the site of a host: its registrable domain, or the host itself if that is an address or a public suffix.
    func site(of host: String, isAddress: Bool) -> Substring {
        guard !isAddress, let contains else { return host[...] }
        var (site, rest) = (host[...], host[...])
        while !contains(String(rest)) {
            site = rest
            guard let dot = rest.firstIndex(of: ".") else { break }
            rest = rest[rest.index(after: dot)...]
        }
        return site
    }

    private typealias Version = @convention(c) () -> UnsafePointer<CChar>?
    private typealias Builtin = @convention(c) () -> OpaquePointer?
    private typealias Latest = @convention(c) (UnsafePointer<CChar>?) -> OpaquePointer?
    private typealias IsPublicSuffix = @convention(c) (OpaquePointer?, UnsafePointer<CChar>, CInt) -> CInt

    /// Names of both parts of the list, and the rule `*` for top-level names outside it (`PSL_TYPE_ANY` of libpsl.h).
    private static let anyType: CInt = 3

    /// Loads the list of libpsl.
    static func loaded(from library: String) -> PublicSuffixes {
        // It is never closed: the list stays in use until the process ends.
        guard let handle = dlopen(library, RTLD_NOW | RTLD_LOCAL) else { return missing("\(library) is not installed") }
        guard let isSuffix = dlsym(handle, "psl_is_public_suffix2"), let builtin = dlsym(handle, "psl_builtin") else {
            return missing("\(library) lacks psl_is_public_suffix2")
        }
        // The newer one of the system's file and the list in the library; without the file the latter.
        var list: OpaquePointer?
        if let latest = dlsym(handle, "psl_latest") { list = unsafeBitCast(latest, to: Latest.self)(nil) }
        if list == nil { list = unsafeBitCast(builtin, to: Builtin.self)() }
        guard let list else { return missing("\(library) has no list") }
        var source = library
        if let version = dlsym(handle, "psl_get_version"), let text = unsafeBitCast(version, to: Version.self)() {
            source = "libpsl \(String(cString: text).prefix { $0 != " " })"
        }
        // libpsl only reads a list that is loaded, so that threads may share it. Numbers are Sendable, pointers are not.
        let address = UInt(bitPattern: list)
        let function = unsafeBitCast(isSuffix, to: IsPublicSuffix.self)
        return PublicSuffixes(source: source) { name in
            function(OpaquePointer(bitPattern: address), name, anyType) != 0
        }
    }
}
