// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// The rules of a jar that no server is needed for. `CookieTableTests` has those of RFC 6265bis.
struct CookieJarTests {
    private static func jar(
        _ perDomain: Int = 50,
        _ maximum: Int = 3000,
        suffixes: PublicSuffixes = PublicSuffixes(source: "test") { !$0.contains(".") },
        at time: @escaping @Sendable () -> Int64 = { 1_700_000_000_000 }
    ) -> HTTPDNSClient.CookieJar {
        HTTPDNSClient.CookieJar(
            limits: .init(maximumPerDomain: perDomain, maximum: maximum),
            file: nil,
            suffixes: suffixes,
            wallClock: WallClock(time)
        )
    }

    @Test("Without libpsl a Domain attribute other than the host is refused")
    func noSuffixes() throws {
        let jar = Self.jar(suffixes: .loaded(from: "libnothing.so.0"))
        #expect(try jar.store("n=v; Domain=shop.test", from: "https://www.shop.test") == .noPublicSuffixList)
        #expect(try jar.store("n=v; Domain=www.shop.test", from: "https://www.shop.test") == nil)
        #expect(jar.cookies.map(\.isHostOnly) == [true])
        #expect(!jar.status.hasPublicSuffixes && jar.status.publicSuffixSource == "libnothing.so.0 is not installed")
        #expect(jar.status.rejected == [.noPublicSuffixList: 1] && jar.status.stored == 1)
    }

    @Test(
        "libpsl knows public suffixes, also private ones, wildcards and exceptions",
        .enabled(if: PublicSuffixes.system.isAvailable),
        arguments: [
            ("com", true), ("test", true), ("shop.test", false), ("co.uk", true), ("a.co.uk", false),
            ("github.io", true), ("a.ck", true), ("www.ck", false), ("xn--fiqs8s", true), ("localhost", true),
        ]
    )
    func suffixes(name: String, isSuffix: Bool) {
        #expect(PublicSuffixes.system.isPublicSuffix(name) == isSuffix)
    }

    @Test("A site is the registrable domain, and a suffix or an address is its own site")
    func sites() {
        let suffixes = PublicSuffixes(source: "test") { ["uk", "co.uk"].contains($0) }
        #expect(suffixes.site(of: "a.b.co.uk", isAddress: false) == "b.co.uk")
        #expect(suffixes.site(of: "b.co.uk", isAddress: false) == "b.co.uk")
        #expect(suffixes.site(of: "co.uk", isAddress: false) == "co.uk")
        #expect(suffixes.site(of: "192.0.2.7", isAddress: true) == "192.0.2.7")
    }

    @Test("The 51st cookie of a domain removes the one that was used least recently")
    func perDomain() throws {
        let now = Lock<Int64>(1_700_000_000_000)
        let jar = Self.jar {
            now.withLock {
                $0 += 1; return $0
            }
        }
        for number in 0..<50 { try jar.store("n\(number)=v; Path=/\(number)", from: "https://one.test") }
        _ = try jar.cookies(for: "https://one.test/0")
        try jar.store("other=v", from: "https://two.test")
        try jar.store("n50=v; Path=/50", from: "https://one.test")
        let names = jar.cookies.map(\.name)
        #expect(names.count == 51 && names.contains("n0") && !names.contains("n1") && names.contains("other"))
        #expect(jar.status.evicted == 1 && jar.status.domains == 2)
    }

    @Test("At the limit of a domain expired cookies go first, then those without Secure")
    func evictionOrder() throws {
        let now = Lock<Int64>(1_700_000_000_000)
        let jar = Self.jar(3) {
            now.withLock {
                $0 += 1; return $0
            }
        }
        try jar.store("plain=v", from: "https://one.test")
        try jar.store("secure=v; Secure", from: "https://one.test")
        try jar.store("short=v; Max-Age=10", from: "https://one.test")
        now.withLock { $0 += 10_000 }
        try jar.store("a=v; Secure", from: "https://one.test")
        #expect(jar.cookies.map(\.name) == ["plain", "secure", "a"] && jar.status.evicted == 0)
        try jar.store("b=v; Secure", from: "https://one.test")
        #expect(jar.cookies.map(\.name) == ["secure", "a", "b"])
        try jar.store("c=v; Secure", from: "https://one.test")
        #expect(jar.cookies.map(\.name) == ["a", "b", "c"] && jar.status.evicted == 2)
    }

    /// Nothing between the expiry and the next cookie removes the expired one.
    @Test("An expired cookie neither blocks one from clear text nor passes on its creation")
    func expired() throws {
        let now = Lock<Int64>(1_700_000_000_000)
        let jar = Self.jar { now.withLock { $0 } }
        try jar.store("n=1; Secure; Max-Age=10", from: "https://one.test")
        try jar.store("m=1", from: "https://one.test")
        now.withLock { $0 += 9_000 }
        #expect(try jar.store("n=2", from: "http://one.test") == .overlaysSecure)
        now.withLock { $0 += 1_000 }
        #expect(try jar.store("n=3", from: "http://one.test") == nil)
        #expect(jar.cookies.map(\.value) == ["1", "3"])
        #expect(jar.cookies.map(\.creation) == [1_700_000_000_000, 1_700_000_010_000])
    }

    @Test("The limit of a jar holds for all domains together")
    func total() throws {
        let jar = Self.jar(50, 100)
        for number in 0..<150 { try jar.store("n=v", from: "https://h\(number).test") }
        #expect(jar.status.cookies == 100 && jar.status.evicted == 50)
        #expect(try jar.cookies(for: "https://h49.test").isEmpty && jar.cookies(for: "https://h50.test").count == 1)
    }

    @Test("Numbers outside the range of a limit become the nearest number in it")
    func clampedLimits() throws {
        let jar = Self.jar(-1, 0)
        try jar.store("a=1", from: "https://one.test")
        try jar.store("b=1", from: "https://two.test")
        #expect(jar.cookies.map(\.name) == ["b"])
    }

    @Test(
        "Each reason for ignoring a field is reported",
        arguments: [
            ("a=\u{1}", .controlCharacter), ("=", .empty), ("a=\(String(repeating: "x", count: 4096))", .tooLarge),
            ("a=b; Domain=ä.test", .domainNotASCII), ("a=b; Domain=two.test", .foreignDomain),
            ("a=b; Domain=test", .publicSuffix), ("a=b; Secure", .secureFromClearText),
            ("a=b; SameSite=None", .sameSiteNoneWithoutSecure), ("__Host-a=b", .prefix), ("a=b", nil),
        ] as [(String, HTTPDNSClient.CookieJar.Rejection?)]
    )
    func rejections(field: String, reason: HTTPDNSClient.CookieJar.Rejection?) throws {
        #expect(try Self.jar().store(field, from: "http://one.test") == reason)
    }

    /// `Path` attributes have this limit by the parser.
    @Test("A path of the URL above 1024 bytes refuses the cookie", arguments: [1024, 1025])
    func longDefaultPath(count: Int) throws {
        let jar = Self.jar()
        let folder = "https://one.test/\(String(repeating: "x", count: count - 1))"
        #expect(try jar.store("n=v", from: "\(folder)/page") == (count > 1024 ? .tooLarge : nil))
        #expect(try jar.store("n=v; Path=/", from: "\(folder)/page") == nil)
        #expect(jar.cookies.map(\.path.utf8.count) == (count > 1024 ? [1] : [count, 1]))
    }

    @Test("Cookies are removed one by one, by session, and all of them")
    func removing() throws {
        let jar = Self.jar()
        for name in ["a", "b; Max-Age=9", "c"] { try jar.store("n=\(name)", from: "https://\(name.prefix(1)).test") }
        let first = try #require(jar.cookies.first)
        jar.remove(first)
        jar.remove(first)
        #expect(jar.cookies.map(\.value) == ["b", "c"])
        jar.removeSessionCookies()
        #expect(jar.cookies.map(\.value) == ["b"])
        jar.removeAll()
        #expect(jar.cookies.isEmpty && jar.status.domains == 0)
    }

    @Test("No text of a cookie, a jar or its settings has a value")
    func redaction() throws {
        let jar = Self.jar()
        try jar.store("n=canary; Secure; HttpOnly; SameSite=Lax; Domain=one.test", from: "https://one.test")
        let cookie = try #require(jar.cookies.first)
        #expect(cookie.value == "canary" && "\(cookie)" == "n, *.one.test/, secure, http-only, same-site lax, session")
        var texts = ["\(cookie)", String(reflecting: cookie), "\(jar)", String(reflecting: jar), "\(jar.status)"]
        for value in [cookie, jar, HTTPDNSClient.Configuration.Cookies.jar(jar)] as [Any] {
            var text = ""
            dump(value, to: &text)
            texts.append(text)
        }
        for text in texts { #expect(!text.contains("canary")) }
    }

    @Test("Concurrent requests and responses lose no cookie")
    func concurrent() async throws {
        let jar = Self.jar(1000)
        try await concurrently(8) { task in
            for number in 0..<100 {
                _ = try? jar.store("n\(task)-\(number)=v", from: "https://one.test")
                _ = try? jar.cookies(for: "https://one.test")
            }
        }
        #expect(jar.status.cookies == 800 && jar.status.stored == 800)
    }

    @Test("A client refuses limits outside their range and a file without a path")
    func invalidSettings() async throws {
        let range = HTTPDNSClient.CookieJar.Limits(maximumPerDomain: 0, maximum: 1)
        for cookies in [HTTPDNSClient.Configuration.Cookies.memory(range), .file("x", range), .file("")] {
            var configuration = HTTPDNSClient.Configuration()
            configuration.cookies = cookies
            let error = await clientError { try await HTTPDNSClient(configuration: configuration) }
            #expect(error?.code == .configuration && error?.message.hasPrefix("cookies") == true)
        }
    }
}
