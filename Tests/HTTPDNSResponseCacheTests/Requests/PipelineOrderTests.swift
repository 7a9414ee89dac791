// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import HTTPDNSResponseCache
import ServerRig
import Testing

struct PipelineOrderTests {
    @Test("A response that varies by a default header field is for requests with its value")
    func defaultHeader() async throws {
        let name = try #require(HTTPField.Name("x-tenant"))
        let origin = ScriptedWire { request, _ in
            Scripted(request.headerFields[name] ?? "-", ["cache-control": "max-age=60", "vary": "X-Tenant"])
                .answer(to: request)
        }
        let client = try await CachedClient(origin) { _ in
        } client: {
            $0.headers.fields[name] = "a"
        }
        var replies: [Reply] = []
        for fields in [[:], ["x-tenant": "a"], ["x-tenant": "b"], [:]] as [[String: String]] {
            replies.append(try await client.get(fields: fields))
        }
        #expect(texts(replies) == ["miss a", "hit a", "miss b", "hit a"])
    }

    @Test("A response to a cookie of the jar is not stored in a shared cache")
    func jarCookie() async throws {
        for (mode, expected) in [
            (HTTPDNSClient.ResponseCache.Mode.shared, ["miss a=1", "miss a=1"]), (.private, ["miss a=1", "hit a=1"]),
        ] {
            let origin = ScriptedWire { request, _ in
                Scripted(request.headerFields[.cookie] ?? "-", CachingTests.maxAge).answer(to: request)
            }
            let client = try await CachedClient(origin) {
                $0.mode = mode
            } client: {
                $0.cookies = .memory()
            }
            _ = try client.client.cookieJar?.store("a=1", from: CachedClient.url)
            #expect(texts([try await client.get(), try await client.get()]) == expected)
            #expect(client.cache.entryCount == (mode == .shared ? 0 : 1))
        }
    }

    /// The body is a stored block of deflate (RFC 1951 section 3.2.4).
    @Test("A download gets the coded bytes on a miss and on a hit", arguments: [false, true])
    func download(_ isFile: Bool) async throws {
        let coded: [UInt8] = [1, 3, 0, 0xfc, 0xff, 3, 4, 5]
        let fields = ["cache-control": "max-age=60", "content-encoding": "deflate"]
        let folder = try TemporaryFolder()
        let client = try await CachedClient(
            ScriptedWire([Scripted(chunks: [coded], fields)]),
            folder: isFile ? folder.path("cache") : nil
        )
        for source in [HTTPDNSClient.CacheSource.miss, .hit] {
            let download = try await client.client.download(CachedClient.url, to: folder.path("saved"))
            #expect(download.response.cacheSource == source && download.bytes == 8)
            #expect(FileManager.default.contents(atPath: folder.path("saved")).map { [UInt8]($0) } == coded)
        }
        // A reader that wants it decoded gets the same response.
        let response = try await client.client.get(CachedClient.url)
        #expect(response.cacheSource == .hit)
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == [3, 4, 5])
        #expect(client.origin.count == 1)
    }
}
