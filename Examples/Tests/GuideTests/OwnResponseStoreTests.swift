// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSResponseCache
import HTTPTypes
import Testing

/// A store in a dictionary, where a program has a database that several processes share.
actor TableStore: HTTPDNSResponseStore {
    typealias StoredResponse = HTTPDNSClient.ResponseCache.StoredResponse

    private var rows: [String: (head: [UInt8], body: [UInt8])] = [:]

    func responses(_ selection: HTTPDNSClient.ResponseCache.Selection) -> [StoredResponse] {
        let all = rows.values.compactMap { row in
            StoredResponse(encoded: row.head, bodyLength: Int64(row.body.count)) { range in
                Array(row.body[Int(range.lowerBound)..<Int(range.upperBound)])
            }
        }
        return all.filter(selection.contains)
    }

    func writer(for response: StoredResponse) -> (any HTTPDNSResponseWriter)? { Writer(response, self) }

    func remove(_ selection: HTTPDNSClient.ResponseCache.Selection) {
        for response in responses(selection) { rows[response.id] = nil }
    }

    private func insert(_ response: StoredResponse, _ body: [UInt8]) { rows[response.id] = (response.encoded, body) }

    private actor Writer: HTTPDNSResponseWriter {
        private let response: StoredResponse
        private let store: TableStore
        private var body: [UInt8] = []

        init(_ response: StoredResponse, _ store: TableStore) { (self.response, self.store) = (response, store) }

        func append(_ bytes: [UInt8]) -> Bool {
            body += bytes
            return body.count <= 1 << 20
        }

        func finish() async -> Bool {
            await store.insert(response, body)
            return true
        }
    }
}

@Suite("A response cache on a store of the program")
struct OwnResponseStoreTests {
    @Test("Two caches on one store share a response")
    func shared() async throws {
        let store = TableStore()
        func configuration() throws -> HTTPDNSClient.Configuration {
            var configuration = HTTPDNSClient.Configuration()
            configuration.resolver.mappings = [try HTTPDNSMapping.Key("shop.example"): .addresses(["203.0.113.7"])]
            configuration.responseCache = .using(store)
            return configuration
        }
        let transport = InProcessTransport { _, _ in
            (HTTPResponse(status: .ok, headerFields: [.cacheControl: "max-age=60"]), Array("menu".utf8))
        }
        for source in [HTTPDNSClient.CacheSource.miss, .hit] {
            let client = try await HTTPDNSClient(configuration: try configuration(), on: transport)
            let response = try await client.get("https://shop.example/menu")
            #expect(try await response.text() == "menu" && response.cacheSource == source)
            try await client.shutdown()
        }
    }
}
