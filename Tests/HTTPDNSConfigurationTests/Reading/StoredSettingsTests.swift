// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSResponseCache
import ServerRig
import Testing

#if YAML
/// The settings of what a client keeps for origins: credentials, cookies and responses.
struct StoredSettingsTests {
    @Test("Credentials are read by origin, and mistakes in them repeat no secret")
    func credentials() throws {
        func settings(_ entry: String) throws -> HTTPDNSClient.Configuration {
            try HTTPDNSConfigurationFile.settings(
                "version: 1\nclient: { credentials: [\(entry)] }",
                name: "/etc/f.yaml"
            )
            .clientConfiguration(file: "/etc/f.yaml")
        }
        let one = try #require(HTTPDNSClient.Origin("https://one.example"))
        let basic =
            "{ origin: 'https://ONE.example/', scheme: basic, user: me, password: { env: A }, preemptive: true }"
        let expected = HTTPDNSClient.Credential.basic(user: "me", password: .environment("A"), preemptive: true)
        #expect(try settings(basic).credentials == [one: expected])
        #expect(
            try settings("{ origin: 'https://one.example', scheme: bearer, token: { env: T } }").credentials
                == [one: .bearer(.environment("T"))]
        )
        for (entry, word) in [
            ("canary", "found a value"), ("{ scheme: basic }", "\"origin\" is missing"),
            ("{ origin: 'https://one.example' }", "\"scheme\" is missing"),
            ("{ origin: 'https://me:canary@one.example', scheme: bearer, token: { env: T } }", "no user information"),
            ("{ origin: 'https://one.example/a', scheme: bearer, token: { env: T } }", "without a path"),
            ("{ origin: 'https://one.example', scheme: bearer, token: canary }", "{ file: PATH } or { env: NAME }"),
            ("{ origin: 'https://one.example', scheme: bearer, token: { env: T }, user: me }", "no such key"),
            ("{ origin: 'https://one.example', scheme: basic, user: me }", "needs the key \"password\""),
            ("{ origin: 'https://one.example', scheme: basic, user: 'a:b', password: { env: A } }", "has a colon"),
            ("\(basic), \(basic)", "listed twice"),
        ] {
            let error = #expect(throws: HTTPDNSConfigurationFileError.self) { try settings(entry) }
            let text = error.map { "\($0)" } ?? ""
            #expect(text.contains(word) && !text.contains("canary"), "\(text)")
        }
    }

    @Test("The place of cookies and their limits are read, and the default is off")
    func cookies() throws {
        func cookies(_ text: String) throws -> HTTPDNSClient.Configuration.Cookies {
            try HTTPDNSConfigurationFile.settings("version: 1\nclient: { \(text) }", name: "/tmp/f.yaml")
                .clientConfiguration(file: "/tmp/f.yaml").cookies
        }
        #expect(try cookies("") == .off && cookies("cookies: off") == .off)
        #expect(try cookies("cookies: memory") == .memory() && cookies("cookies: {}") == .memory())
        let limits = HTTPDNSClient.CookieJar.Limits(maximumPerDomain: 7, maximum: 70)
        #expect(try cookies("cookies: { maximum_per_domain: 7, maximum: 70 }") == .memory(limits))
        #expect(try cookies("cookies: { file: jar, maximum_per_domain: 7, maximum: 70 }") == .file("/tmp/jar", limits))
        #expect(try cookies("cookies: { file: /tmp/jar }") == .file("/tmp/jar"))
    }

    @Test("Settings for inspection leave the file with cookies alone")
    func inspectedCookies() throws {
        let settings = try HTTPDNSConfigurationFile.settings(
            "version: 1\nclient: { cookies: { file: jar, maximum: 70 } }",
            name: "/tmp/f.yaml"
        )
        let limits = HTTPDNSClient.CookieJar.Limits(maximumPerDomain: 50, maximum: 70)
        #expect(settings.forInspection.configuration.cookies == .memory(limits))
    }

    @Test("The settings of the response cache are read, and the default is none")
    func responseCache() throws {
        func cache(_ text: String) throws -> ResponseCacheSettings? {
            try HTTPDNSConfigurationFile.settings("version: 1\nclient: { \(text) }", name: "/tmp/f.yaml")
                .configuration.responseCacheSettings
        }
        #expect(try cache("") == nil && cache("response_cache: off") == nil)
        #expect(try cache("response_cache: memory") == ResponseCacheSettings())
        #expect(try cache("response_cache: {}") == ResponseCacheSettings())
        var expected = ResponseCacheSettings()
        expected.folder = "/tmp/responses"
        expected.isShared = false
        expected.limit = .mebibytes(1)
        expected.maximumEntries = 7
        expected.maximumAge = .seconds(3600)
        expected.servesWhenUnreachable = true
        let text =
            "folder: responses, mode: private, limit: 1MiB, maximum_entries: 7, maximum_age: 1h, serves_when_unreachable: true"
        #expect(try cache("response_cache: { \(text) }") == expected)
    }

    @Test("A client opens the cache of its file, which settings for inspection leave alone")
    func openedCache() async throws {
        let folder = try TemporaryFolder()
        let settings = try HTTPDNSConfigurationFile.settings(
            "version: 1\nclient: { response_cache: { folder: responses, maximum_entries: 7 } }",
            name: folder.path("f.yaml")
        )
        #expect(settings.forInspection.configuration.responseCacheSettings?.folder == nil)
        let configuration = try settings.clientConfiguration(file: folder.path("f.yaml"))
        let client = try await HTTPDNSClient(configuration: configuration)
        #expect(client.responseCache?.settings.maximumEntries == 7)
        #expect(try folder.names == ["responses"])
        // The folder is for one cache; that of another client is in memory meanwhile.
        let other = try await HTTPDNSClient(configuration: configuration)
        #expect(client.responseCache?.isFolderInUse == true && other.responseCache?.isFolderInUse == false)
        try await client.shutdown()
        try await other.shutdown()
    }
}
#endif
