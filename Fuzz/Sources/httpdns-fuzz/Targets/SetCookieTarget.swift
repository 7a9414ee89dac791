// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

@testable internal import HTTPDNS
@testable internal import HTTPDNSPrimitives

extension FuzzTarget {
    /// A `Set-Cookie` field as a server sends it: what is stored goes into a request, and into the file and back. The same
    /// bytes as the file of a jar.
    static let setCookie = FuzzTarget(name: "set-cookie") { bytes in
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize("https://www.one.test/a/b") else { return }
        let suffixes = PublicSuffixes(source: "fuzzer") { !$0.contains(".") }
        let clock = WallClock { 1_700_000_000_000 }
        let jar = HTTPDNSClient.CookieJar(limits: .init(), file: nil, suffixes: suffixes, wallClock: clock)
        let origin = CookieURL(url.parsed)
        let rejection = jar.store(bytes, from: origin)
        let cookies = jar.cookies
        precondition(rejection == nil || cookies.isEmpty)
        for cookie in cookies {
            precondition(cookie.domain == "www.one.test" || cookie.domain == "one.test" && !cookie.isHostOnly)
            precondition(cookie.path.hasPrefix("/"))
            precondition(cookie.expiry.map { $0 - clock.now() <= CookieStore.maximumLife } ?? true)
        }
        if let field = jar.field(for: origin, hasCrossedSites: false, isSafe: true) {
            precondition(field.count <= SetCookie.maximumPair + 1)
            precondition(!field.contains { SetCookie.isForbidden($0) || $0 == UInt8(ascii: ";") })
        }
        let persistent = cookies.filter { $0.expiry != nil }.map(\.stored)
        guard let read = try? CookieFileFormat.cookies(in: CookieFileFormat.text(persistent), of: "jar") else {
            preconditionFailure("a written file cannot be read")
        }
        precondition(read.damage.isEmpty && read.cookies.map(\.key) == persistent.map(\.key))
        precondition(read.cookies.map(\.value) == persistent.map(\.value))
        for text in [bytes, Array("\(CookieFileFormat.header)\n".utf8) + bytes] {
            guard let content = try? CookieFileFormat.cookies(in: text, of: "jar") else { continue }
            precondition(content.damage.allSatisfy { ($0.line ?? 0) > 1 })
        }
    }
}
