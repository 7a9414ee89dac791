// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSPrimitives

/// A folder whose files answer requests, and the rules that keep requests inside it.
struct ServedFolder: Sendable {
    /// The path without links.
    private let root: String
    private let index: String?
    private let prefix: [[UInt8]]

    /// - Throws: ``HTTPDNSStubs/AnswerError`` with code `unreadable` or `notFolder`.
    init(_ root: String, index: String?, prefix: String) throws(HTTPDNSStubs.AnswerError) {
        guard let resolved = Self.resolved(root) else {
            throw HTTPDNSStubs.AnswerError(
                .unreadable,
                "it cannot be read: \(FileFault(root, errno).reason)",
                file: root
            )
        }
        guard Self.kind(of: resolved) == S_IFDIR else {
            throw HTTPDNSStubs.AnswerError(.notFolder, "it is not a folder", file: root)
        }
        self.root = resolved
        self.index = index
        self.prefix = prefix.utf8.split(separator: UInt8(ascii: "/")).map(Array.init)
    }

    /// Returns the path of the regular file for a URL; nil when there is none in the folder.
    func file(for url: String) -> String? {
        guard var segments = Self.segments(of: url), segments.starts(with: prefix) else { return nil }
        segments.removeFirst(prefix.count)
        // A segment that is absolute, that leads up, or that the system would cut at a zero byte is no name.
        guard
            segments.allSatisfy({
                $0 != Array("..".utf8) && $0 != Array(".".utf8) && !$0.contains(where: Self.isSeparator)
            })
        else { return nil }
        let names = segments.map { String(decoding: $0, as: UTF8.self) }
        guard let path = inside(([root] + names).joined(separator: "/")) else { return nil }
        switch Self.kind(of: path) {
        case S_IFREG: return path
        case S_IFDIR:
            guard let index, let page = inside("\(path)/\(index)"), Self.kind(of: page) == S_IFREG else { return nil }
            return page
        default: return nil
        }
    }

    /// Returns the path without links; nil when it leads out of the folder or to nothing.
    private func inside(_ path: String) -> String? {
        guard let resolved = Self.resolved(path) else { return nil }
        return resolved == root || resolved.hasPrefix(root == "/" ? root : "\(root)/") ? resolved : nil
    }

    private static func isSeparator(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "/") || byte == 0 }

    /// Returns the segments of the path of a URL without their percent-encoding, the empty ones left out; nil for a text
    /// without a scheme.
    private static func segments(of url: String) -> [[UInt8]]? {
        let text = Array(url.utf8)
        guard let colon = text.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        var rest = text[(colon + 1)...]
        let slashes = Array("//".utf8)
        if rest.starts(with: slashes) {
            let ends: Set<UInt8> = [UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#")]
            rest = rest.dropFirst(slashes.count).drop { !ends.contains($0) }
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return path.split(separator: UInt8(ascii: "/")).map { PercentCoding.decoded($0) }
    }

    private static func resolved(_ path: String) -> String? {
        guard let resolved = realpath(path, nil) else { return nil }
        defer { free(resolved) }
        return String(cString: resolved)
    }

    private static func kind(of path: String) -> mode_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & S_IFMT : nil
    }
}
