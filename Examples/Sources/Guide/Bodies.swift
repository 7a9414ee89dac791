// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Bodies in both directions.
enum Bodies {
    static func read(_ client: HTTPDNSClient) async throws {
        let response = try await client.get("https://img.shop.example/big.iso")
        var bytes = 0
        for try await chunk in response.body {  // at most 64 KiB each
            bytes += chunk.count
        }
        print(bytes, response.body.summary?.wireBytes ?? 0, "on the wire")
    }

    static func send(_ client: HTTPDNSClient) async throws {
        let (lines, feed) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
        feed.yield(Array("one\n".utf8))
        feed.yield(Array("two\n".utf8))
        feed.finish()
        let response = try await client.post("https://log.shop.example/v1", body: .stream(lines))

        print(response.status)
    }

    struct Charge: Codable { var amount: Int }

    static func exchangeJSON(_ client: HTTPDNSClient) async throws {
        let charged = try await client.post("https://pay.shop.example/v1/charge", json: Charge(amount: 100))
        let charge = try await charged.body.decode(Charge.self, upTo: .kibibytes(64))
        print(charge.amount)
    }

    static func upload(_ client: HTTPDNSClient) async throws {
        let upload = HTTPDNSClient.Request(
            method: .put,
            url: "https://img.shop.example/big.iso",
            body: .file("/var/lib/app/big.iso").reportingProgress { progress in print(progress) }
        )
        let uploaded = try await client.execute(upload)
        print(uploaded.status)

        let rows = try await client.post("https://log.shop.example/v1", body: .file("/tmp/rows.csv").compressed())
        print(rows.status)
    }

    static func text(_ client: HTTPDNSClient) async throws {
        let page = try await client.get("https://www.shop.example/").validated(types: ["text/*", "application/*+xml"])
        print(try await page.text())

        let items = try await client.get("https://api.shop.example/v1/items").validated(types: ["application/json"])
        print(items.status)
    }

    static func parameters() {
        var search = HTTPDNSClient.Request(url: "https://api.shop.example/v1/search")
        search.addQuery(["q": "a b", "tags": ["red", "blue"], "page": ["size": 20]])
        print(search.url)  // ...?q=a%20b&tags%5B%5D=red&tags%5B%5D=blue&page%5Bsize%5D=20

        var encoding = HTTPDNSClient.Parameters.Encoding.query
        encoding.lists = .commas
        encoding.nesting = .dots
        search.addQuery(["ids": [1, 2], "sort": ["by": "name"]], encoding: encoding)

        let parameters: HTTPDNSClient.Parameters = ["q": "a b", "tags": ["red", "blue"], "page": ["size": 20]]
        print(parameters.encoded())  // q=a%20b&tags%5B%5D=red&tags%5B%5D=blue&page%5Bsize%5D=20
    }

    static func bandwidth(_ client: HTTPDNSClient) async throws {
        let slow = try await client.get("https://img.shop.example/big.iso") { $0.bandwidth.receiving = .kibibytes(128) }
        for try await _ in slow.body {}
        print(slow.body.summary?.bytesPerSecond ?? 0)
    }

    static func download(_ client: HTTPDNSClient) async throws {
        let download = try await client.download(
            "https://img.shop.example/big.iso",
            to: "/var/lib/app/big.iso",
            { $0.timeouts.total = .seconds(600) },
            progress: { progress in print(progress.fraction ?? 0) }
        )
        print(download.bytes, download.path)

        let resumed = try await client.download(
            "https://img.shop.example/big.iso",
            to: "/var/lib/app/big.iso",
            existingFile: .resume,
            checksum: .sha256("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08")
        )
        print(resumed.bytes, resumed.response.status)  // 206 if an earlier download was continued
    }
}
