// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The text of a file with cookies: a line that names the format, then a line for each cookie.
///
/// A line has these fields, separated by tabs: domain, `host` or `domain`, path, `secure` or `-`, `http-only` or `-`, the
/// `SameSite` value, expiry, creation and last access in milliseconds since 1970, name, value, and a full stop, without
/// which the line was cut off. Bytes other than visible ASCII, and the percent sign, are percent-encoded.
enum CookieFileFormat {
    static let header = "# httpdns-cookies 1"
    private static let family = "# httpdns-cookies "
    private static let end = "."
    private static let fields = 12

    /// The longest line: a domain of 253 bytes (RFC 1035), the path, name and value with each byte percent-encoded, three
    /// times of 20 digits, and 45 bytes of words (`domain`, `secure`, `http-only`, `unspecified`, the full stop) and
    /// separators.
    static let maximumLine = 253 + 3 * (SetCookie.maximumAttribute + SetCookie.maximumPair) + 3 * 20 + 45

    /// Returns the text for cookies. Session cookies are left out.
    static func text(_ cookies: [StoredCookie]) -> [UInt8] {
        var text = Array("\(header)\n".utf8)
        for cookie in cookies {
            guard let expiry = cookie.expiry else { continue }
            let fields = [
                cookie.key.domain, cookie.key.isHostOnly ? "host" : "domain", encoded(cookie.key.path),
                cookie.isSecure ? "secure" : "-", cookie.isHTTPOnly ? "http-only" : "-", cookie.sameSite.description,
                "\(expiry)", "\(cookie.creation)", "\(cookie.lastAccess)", encoded(cookie.key.name),
                encoded(cookie.value), end,
            ]
            text += Array(fields.joined(separator: "\t").utf8)
            text.append(UInt8(ascii: "\n"))
        }
        return text
    }

    /// Returns the cookies of a text, and an error for each line that has none.
    /// - Throws: ``HTTPDNSClient/CookieJar/FileError`` for a text that is no file with cookies.
    static func cookies(
        in text: [UInt8],
        of path: String
    ) throws(HTTPDNSClient.CookieJar.FileError) -> CookieFile.Content {
        // A file that was made in advance, for its permissions.
        guard !text.isEmpty else { return CookieFile.Content() }
        let lines = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        let first = String(decoding: lines[0].prefix(80), as: UTF8.self)
        guard first == header else {
            if first.hasPrefix(family) {
                throw .init(.unsupportedVersion, path, 1, "its format is another version than this program's")
            }
            throw .init(.foreign, path, 1, "it is no file with cookies, and is left unchanged; check the path")
        }
        var cookies: [StoredCookie] = []
        var damage: [HTTPDNSClient.CookieJar.FileError] = []
        for (index, line) in lines.enumerated().dropFirst() where !line.isEmpty {
            do throws(Damage) {
                cookies.append(try cookie(line))
            } catch {
                damage.append(.init(.damaged, path, index + 1, "\(error.reason); the cookie is lost"))
            }
        }
        return CookieFile.Content(cookies: cookies, damage: damage)
    }

    private struct Damage: Error {
        let reason: String
    }

    private static func cookie(_ line: ArraySlice<UInt8>) throws(Damage) -> StoredCookie {
        let parts = line.split(separator: UInt8(ascii: "\t"), omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        guard parts.last == end else { throw Damage(reason: "the line is cut off") }
        guard parts.count == fields else { throw Damage(reason: "it has \(parts.count) fields in place of \(fields)") }
        guard isHost(parts[0]) else { throw Damage(reason: "the first field is no canonical host") }
        guard let isHostOnly = choice(parts[1], "host", "domain"), let isSecure = choice(parts[3], "secure", "-"),
            let isHTTPOnly = choice(parts[4], "http-only", "-"), let sameSite = sameSites[parts[5]],
            let expiry = Int64(digits: parts[6]), let creation = Int64(digits: parts[7]),
            let access = Int64(digits: parts[8])
        else { throw Damage(reason: "an attribute or a time cannot be read") }
        guard let path = PercentCoding.strictlyDecoded(parts[2].utf8), path.first == UInt8(ascii: "/"),
            path.count <= SetCookie.maximumAttribute, let name = PercentCoding.strictlyDecoded(parts[9].utf8),
            let value = PercentCoding.strictlyDecoded(parts[10].utf8),
            isSendable(name, value)
        else { throw Damage(reason: "the path, the name or the value cannot be read") }
        return StoredCookie(
            key: StoredCookie.Key(name: name, domain: parts[0], isHostOnly: isHostOnly, path: path),
            value: value,
            expiry: expiry,
            isSecure: isSecure,
            isHTTPOnly: isHTTPOnly,
            sameSite: sameSite,
            creation: creation,
            lastAccess: access
        )
    }

    private static let sameSites: [String: HTTPDNSClient.Cookie.SameSite] = [
        "strict": .strict, "lax": .lax, "none": .none, "unspecified": .unspecified,
    ]

    private static func choice(_ text: String, _ yes: String, _ no: String) -> Bool? {
        text == yes ? true : text == no ? false : nil
    }

    private static func isHost(_ text: String) -> Bool {
        if let address = HTTPDNSAddress(text) { return address.description == text }
        return (try? HTTPDNSName(text))?.description == text
    }

    /// Whether name and value can be in a `Cookie` field: a changed file must not add fields to requests.
    private static func isSendable(_ name: [UInt8], _ value: [UInt8]) -> Bool {
        func isAllowed(_ byte: UInt8) -> Bool { !SetCookie.isForbidden(byte) && byte != UInt8(ascii: ";") }
        return name.count + value.count <= SetCookie.maximumPair && !(name.isEmpty && value.isEmpty)
            && name.allSatisfy { isAllowed($0) && $0 != UInt8(ascii: "=") } && value.allSatisfy(isAllowed)
    }

    private static func encoded(_ bytes: [UInt8]) -> String {
        PercentCoding.encoded(bytes) { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "%") }
    }
}

/// The file of a jar. Its functions may wait for the disk.
struct CookieFile: Sendable {
    /// The content of a file.
    struct Content: Sendable {
        var cookies: [StoredCookie] = []
        /// The lines that cannot be read.
        var damage: [HTTPDNSClient.CookieJar.FileError] = []
    }

    let path: String
    /// The largest file that is read.
    let maximumBytes: Int

    /// Creates the file of a jar with these limits. It reads whatever such a jar writes, and at least 64 MiB, so that it
    /// reads the file of a jar with the default limits too: 3000 cookies of the largest size have about 47 MB.
    init(_ path: String, _ limits: HTTPDNSClient.CookieJar.Limits) {
        self.path = path
        maximumBytes = max(
            64 << 20,
            CookieFileFormat.header.utf8.count + 1 + limits.maximum * CookieFileFormat.maximumLine
        )
    }

    /// Returns the cookies of the file; none when it does not exist.
    /// - Parameter limit: The longest wait for another process that writes the file in place.
    /// - Throws: ``HTTPDNSClient/CookieJar/FileError``.
    func read(waiting limit: Duration = ReplacedFile.lockLimit) throws(HTTPDNSClient.CookieJar.FileError) -> Content {
        guard let bytes = try contents(waiting: limit) else { return Content() }
        return try CookieFileFormat.cookies(in: bytes, of: path)
    }

    /// Replaces the file in one step. The file is readable for its owner alone.
    /// - Throws: ``HTTPDNSClient/CookieJar/FileError``; the earlier content is still there then.
    func write(_ cookies: [StoredCookie]) throws(HTTPDNSClient.CookieJar.FileError) {
        do throws(FileFault) {
            let file = try ReplacedFile(path, isPrivate: true)
            try file.append(CookieFileFormat.text(cookies))
            try file.finish()
        } catch {
            throw .init(.unwritable, path, nil, "\(error.reason); the cookies are kept in memory")
        }
    }

    private func contents(waiting limit: Duration) throws(HTTPDNSClient.CookieJar.FileError) -> [UInt8]? {
        // A pipe without a writer would block the call.
        let descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .init(.unreadable, path, nil, systemErrorText(errno))
        }
        defer { close(descriptor) }
        do throws(FileFault) {
            try ReplacedFile.lock(descriptor, of: path, isShared: true, waiting: limit)
        } catch {
            throw .init(.unreadable, path, nil, error.reason)
        }
        defer { ReplacedFile.unlock(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw .init(.unreadable, path, nil, "it is no regular file")
        }
        // Its readers get the credentials in it, and its writers decide which cookies requests have.
        guard status.st_mode & (S_IWGRP | S_IRWXO) == 0 else {
            let mode = String(status.st_mode & 0o777, radix: 8)
            throw .init(.unreadable, path, nil, "its mode is \(mode), which lets others read or write it; chmod 600 it")
        }
        guard status.st_size <= maximumBytes else {
            let reason = "it has more than \(maximumBytes) bytes; raise the maximum of the limits, or remove it"
            throw .init(.unreadable, path, nil, reason)
        }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: length), buffer.count - length)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .init(.unreadable, path, nil, systemErrorText(errno)) }
            guard count > 0 else { break }
            length += count
        }
        return Array(bytes[..<length])
    }
}
