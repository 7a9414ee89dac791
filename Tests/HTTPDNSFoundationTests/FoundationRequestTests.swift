// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import FoundationNetworking
import HTTPDNS
import HTTPDNSFoundation
import HTTPDNSResponseCache
import HTTPDNSTesting
import ServerRig
import Testing

/// How a request of Foundation becomes one of the client.
struct FoundationRequestTests {
    private static func url(_ text: String = "http://one.test/a?b=1") throws -> URL {
        try #require(URL(string: text))
    }

    private static func request(_ change: (inout URLRequest) -> Void = { _ in }) throws -> URLRequest {
        var request = URLRequest(url: try url())
        change(&request)
        return request
    }

    @Test("URL, method, header fields and cookies are taken over")
    func parts() throws {
        let plain = try HTTPDNSClient.Request(Self.request())
        #expect(plain.method == .get && plain.url == "http://one.test/a?b=1" && plain.headerFields.isEmpty)
        #expect(plain.options == HTTPDNSClient.Request.Options())
        let full = try HTTPDNSClient.Request(
            Self.request { request in
                request.httpMethod = "REPORT"
                request.setValue("text/plain", forHTTPHeaderField: "Accept")
                request.addValue("text/html", forHTTPHeaderField: "Accept")
                request.setValue("other.test", forHTTPHeaderField: "Host")
                request.setValue("3", forHTTPHeaderField: "Content-Length")
                request.httpBody = Data([1, 2, 3])
                request.httpShouldHandleCookies = false
            }
        )
        #expect(full.method == HTTPRequest.Method("REPORT"))
        #expect(full.headerFields[.accept]?.filter { $0 != " " } == "text/plain,text/html")
        #expect(full.headerFields.count == 1 && full.options.hostHeader == "other.test")
        #expect(!full.options.usesCookies && full.body.isReplayable)
    }

    @Test(
        "A cache policy becomes a Cache-Control field, unless the request has one",
        arguments: [
            (.useProtocolCachePolicy, nil), (.reloadIgnoringLocalCacheData, "no-cache"),
            (.reloadIgnoringLocalAndRemoteCacheData, "no-cache"), (.reloadRevalidatingCacheData, "no-cache"),
            (.returnCacheDataElseLoad, "max-stale"), (.returnCacheDataDontLoad, "only-if-cached, max-stale"),
        ] as [(URLRequest.CachePolicy, String?)]
    )
    func cachePolicy(_ policy: URLRequest.CachePolicy, _ directive: String?) throws {
        let plain = try HTTPDNSClient.Request(Self.request { $0.cachePolicy = policy })
        #expect(plain.headerFields[.cacheControl] == directive)
        let own = try HTTPDNSClient.Request(
            Self.request { request in
                request.cachePolicy = policy
                request.setValue("max-age=5", forHTTPHeaderField: "Cache-Control")
            }
        )
        #expect(own.headerFields[.cacheControl] == "max-age=5")
    }

    @Test("A relative URL is resolved against its base")
    func relative() throws {
        let url = try #require(URL(string: "b?c", relativeTo: Self.url("http://one.test/a/")))
        #expect(HTTPDNSClient.Request(url: url).url == "http://one.test/a/b?c")
        #expect(try HTTPDNSClient.Request(URLRequest(url: url)).url == "http://one.test/a/b?c")
        #expect(HTTPDNSClient.Request(method: .put, url: url, headerFields: [.accept: "a"]).method == .put)
    }

    @Test(
        "The interval limits the call, and Foundation's default is the client's limit",
        arguments: [
            (2.5, .milliseconds(2500)), (60, nil), (0, nil), (.infinity, nil), (-1, nil), (.nan, nil),
            (.greatestFiniteMagnitude, nil), (1e11, nil), (1e10, .seconds(10_000_000_000)),
        ] as [(TimeInterval, Duration?)]
    )
    func timeout(interval: TimeInterval, limit: Duration?) throws {
        let timeouts = try HTTPDNSClient.Request(Self.request { $0.timeoutInterval = interval }).options.timeouts
        #expect(timeouts.total == limit)
        #expect(timeouts.responseHead == (limit == nil ? HTTPDNSClient.Timeouts().responseHead : nil))
    }

    @Test("A request that cannot be sent is refused with the reason", arguments: ["url", "method", "name", "length"])
    func refused(part: String) throws {
        let request = try Self.request { request in
            switch part {
            case "url": request.url = nil
            case "method": request.httpMethod = "GET / HTTP/1.1"
            case "name": request.setValue("a", forHTTPHeaderField: "a b")
            default: request.setValue("many", forHTTPHeaderField: "Content-Length")
            }
        }
        let error = #expect(throws: HTTPDNSClientError.self) { try HTTPDNSClient.Request(request) }
        #expect(error?.code == .invalidRequest && error?.message.hasPrefix("the URLRequest cannot be sent") == true)
    }

    /// Foundation drops a value with a line end when it is set.
    @Test("A line end in a value adds no header field")
    func injected() throws {
        let request = try Self.request { $0.setValue("a\r\nX-Injected: 1", forHTTPHeaderField: "X-A") }
        let fields = (try? HTTPDNSClient.Request(request))?.headerFields ?? [:]
        #expect(!fields.contains { $0.name.rawName == "X-Injected" || $0.value.contains("\n") })
    }

    @Test("A response without exchanges has the given URL, and joined fields")
    func response() throws {
        var fields: HTTPFields = [.contentType: "text/plain"]
        fields.append(HTTPField(name: .vary, value: "a"))
        fields.append(HTTPField(name: .vary, value: "b"))
        for name in ["X-a", "x-A"] { fields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: name)) }
        let made = HTTPDNSClient.Response(
            head: HTTPResponse(status: .notFound, headerFields: fields),
            body: .bytes([1])
        )
        let url = try Self.url()
        let response = try #require(HTTPURLResponse(made, url: url))
        #expect(response.statusCode == 404 && response.url == url)
        #expect(response.value(forHTTPHeaderField: "vary") == "a, b")
        #expect(response.value(forHTTPHeaderField: "content-type") == "text/plain")
        // The spelling is that of the first field.
        #expect(response.allHeaderFields["X-a"] as? String == "X-a, x-A" && response.allHeaderFields.count == 3)
    }
}

/// Requests of Foundation over the wire, beside those of `URLSession`.
@Suite(.enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct FoundationOverTheWireTests {
    /// What nginx got, and what came back.
    private struct Result: Equatable {
        var status: Int
        var url: URL?
        var fields: [String: String]
        var body: Data
    }

    private static func result(_ data: Data, _ response: HTTPURLResponse) -> Result {
        var fields: [String: String] = [:]
        for (name, value) in response.allHeaderFields {
            // It may change between two responses.
            if "\(name)" != "Date" { fields["\(name)"] = "\(value)" }
        }
        return Result(status: response.statusCode, url: response.url, fields: fields, body: data)
    }

    private static func ofSession(_ request: URLRequest) async throws -> Result {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.connectionProxyDictionary = [:]
        let session = URLSession(configuration: configuration)
        defer { session.finishTasksAndInvalidate() }
        let (data, response) = try await session.data(for: request)
        return result(data, try #require(response as? HTTPURLResponse))
    }

    private static func ofClient(_ request: URLRequest) async throws -> Result {
        try await withHTTPDNSClient { client in
            let (data, response) = try await client.data(for: request)
            return result(data, response)
        }
    }

    @Test(
        "Status, fields, body and final URL are those that URLSession returns",
        arguments: ["/text.txt", "/redirect/302?to=/text.txt", "/hops/3", "/status/404", "/empty"]
    )
    func sameResponse(path: String) async throws {
        let rig = try await ServerRig.shared()
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.2:\(rig.httpPort)\(path)")))
        request.setValue("foundation-test", forHTTPHeaderField: "User-Agent")
        request.setValue("*/*", forHTTPHeaderField: "Accept")
        request.setValue("en", forHTTPHeaderField: "Accept-Language")
        request.setValue("identity", forHTTPHeaderField: "Accept-Encoding")
        var (own, other) = (try await Self.ofClient(request), try await Self.ofSession(request))
        if path.hasPrefix("/hops") {
            // The body has the number of the connection, and the fields that only one of both sends.
            (own.body, other.body) = (Data(), Data())
            (own.fields["Content-Length"], other.fields["Content-Length"]) = (nil, nil)
        }
        #expect(own == other)
        if path.hasPrefix("/redirect") { #expect(own.url?.path == "/text.txt" && own.status == 200) }
        if path.hasPrefix("/hops") { #expect(own.url?.path == "/echo") }
    }

    /// The last exchange is that of the redirect.
    @Test("The URL is that of the last hop when a stub or the cache has answered it", arguments: [true, false])
    func answeredWithoutSending(byStub: Bool) async throws {
        let server = try RawServer(.serve("stored", fields: "Cache-Control: max-age=600\r\n"))
        let target = "http://127.0.0.1:\(server.port)/\(byStub ? "stub" : "stored")?a=1"
        let first = try RawServer(.serve(status: "302 Found", fields: "Location: \(target)\r\n"))
        let url = try #require(URL(string: "http://127.0.0.1:\(first.port)/old"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.responseCache = .memory()
        let stubs = HTTPDNSStubs(unmatched: .pass)
        stubs.on(.get, path: "/stub").respond(.text("stubbed"))
        configuration.use(stubs)
        try await withHTTPDNSClient(configuration: configuration) { client in
            var counts: [Int] = []
            for body in byStub ? ["stubbed"] : ["stored", "stored"] {
                let (data, response) = try await client.data(for: URLRequest(url: url))
                #expect(response.url?.absoluteString == target)
                #expect(data == Data(body.utf8))
                counts.append(server.count(of: "GET /stored"))
            }
            // The second response came from the cache.
            #expect(counts == (byStub ? [0] : [1, 1]))
            let last = try await client.get(url.absoluteString)
            #expect(last.exchanges.count == 1 && last.exchange?.endpoint == nil)
        }
    }

    @Test("Fields of one name are combined as URLSession combines them")
    func combined() async throws {
        let server = try RawServer(.serve("hello", fields: "X-A: 1\r\nContent-Type: text/plain\r\nX-A: 2\r\n"))
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        let (own, other) = (try await Self.ofClient(request), try await Self.ofSession(request))
        #expect(own == other && own.body == Data("hello".utf8))
    }

    /// What `/echo` reports of a request.
    private struct Echo: Decodable, Equatable {
        let method: String
        let target: String
        let bodyBytes: Int
        let bodyMD5: String?
    }

    @Test("Method, URL and body arrive as those of URLSession do", arguments: [false, true])
    func sameRequest(isStream: Bool) async throws {
        let rig = try await ServerRig.shared()
        let url = try #require(URL(string: "http://127.0.0.2:\(rig.httpPort)/echo?a=%20b"))
        let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
        func made() -> URLRequest {
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            request.setValue("application/x-test", forHTTPHeaderField: "Content-Type")
            return request
        }
        var (request, reference) = (made(), made())
        if isStream { request.httpBodyStream = InputStream(data: body) } else { request.httpBody = body }
        reference.httpBody = body
        let own = try JSONDecoder().decode(Echo.self, from: try await Self.ofClient(request).body)
        let other = try JSONDecoder().decode(Echo.self, from: try await Self.ofSession(reference).body)
        #expect(own == other && own.bodyBytes == body.count && own.method == "PUT")
    }

    @Test("A stream that cannot be read fails the request with the error of the stream")
    func brokenStream() async throws {
        let server = try RawServer(.readHead, .hang)
        var request = URLRequest(url: try #require(URL(string: "http://127.0.0.1:\(server.port)/")))
        request.httpMethod = "POST"
        request.httpBodyStream = InputStream(fileAtPath: "/nowhere/file")
        do {
            _ = try await Self.ofClient(request)
            Issue.record("the request was sent")
        } catch let error as HTTPDNSClientError {
            #expect(error.code == .requestBodyFailed)
            #expect("\(error.underlying.map { "\($0)" } ?? "")".contains("body stream"))
        }
    }

    @Test("A body is returned as a stream, and data(for:) has a limit")
    func streamed() async throws {
        let rig = try await ServerRig.shared()
        let request = URLRequest(url: try #require(URL(string: "http://127.0.0.2:\(rig.httpPort)/bytes?count=100000")))
        try await withHTTPDNSClient { client in
            let (body, response) = try await client.stream(for: request)
            #expect(response.statusCode == 200)
            #expect(try await body.collect(upTo: .kibibytes(100)).count == 100_000)
            let error = await #expect(throws: HTTPDNSClientError.self) {
                try await client.data(for: request, upTo: .bytes(99_999))
            }
            #expect(error?.code == .responseTooLarge)
        }
    }
}
