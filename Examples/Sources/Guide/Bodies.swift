import HTTPDNSClient

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
}
