// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO
internal import Foundation
internal import FoundationNetworking
internal import HTTPDNS
internal import HTTPDNSNIO
internal import Synchronization

/// A program of URLSession with two lines of this package. It prints a line for each kind of task.
///
/// `httpdns-session-probe RULE... -- URL PATH`: the rules are `host=target`; URL is that of an origin that stores what is put below
/// PATH.
@main
struct SessionProbe {
    static func main() async throws {
        let listener = try HTTPDNSProxy.Listener()
        try listener.installForURLSession()

        let arguments = Array(CommandLine.arguments.dropFirst())
        let parts = arguments.split(separator: "--", maxSplits: 1).map(Array.init)
        guard parts.count == 2, parts[1].count == 2 else { fatalError("usage: RULE... -- URL PATH") }
        var configuration = HTTPDNSClient.Configuration()
        for rule in parts[0] {
            let sides = rule.split(separator: "=", maxSplits: 1).map(String.init)
            let key = try HTTPDNSMapping.Key(sides[0])
            configuration.resolver.mappings[key] = .addresses([sides[1]])
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        let proxy = try await HTTPDNSProxy(client, on: listener)
        let (origin, stored) = (parts[1][0], parts[1][1])
        let session = URLSession.shared
        func url(_ path: String) throws -> URL {
            guard let url = URL(string: origin + path) else { throw URLError(.badURL) }
            return url
        }
        await report("data") {
            let (data, response) = try await session.data(from: url("/echo"))
            return "\(status(response)) \(address(in: data))"
        }
        await report("upload") {
            var request = URLRequest(url: try url(stored))
            request.httpMethod = "PUT"
            let (_, response) = try await session.upload(for: request, from: Data(count: 1 << 20))
            return status(response)
        }
        await report("download") {
            let (file, response) = try await session.download(from: url(stored))
            let size = try FileManager.default.attributesOfItem(atPath: file.path)[.size]
            return "\(status(response)) \(size ?? 0)"
        }
        await report("delegate") {
            let receiver = Receiver()
            let session = URLSession(configuration: .default, delegate: receiver, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            let (data, response) = try await receiver.content(of: session.dataTask(with: try url("/echo")))
            return "\(status(response)) \(address(in: data))"
        }
        await report("redirect") {
            let (data, response) = try await session.data(from: url("/redirect/302?to=/echo"))
            return "\(status(response)) \(address(in: data))"
        }
        await report("unknown") {
            guard let url = URL(string: "https://gone.invalid/") else { throw URLError(.badURL) }
            return status(try await session.data(from: url).1)
        }
        print("tunnels", proxy.counters.opened > 0)
        await proxy.shutdown()
        try await client.shutdown()
    }

    private static func status(_ response: URLResponse) -> String {
        (response as? HTTPURLResponse).map { "\($0.statusCode)" } ?? "-"
    }

    private static func address(in data: Data) -> String {
        let fields = try? JSONSerialization.jsonObject(with: data) as? [String: Any]
        return fields?["address"] as? String ?? "-"
    }

    private static func report(_ kind: String, _ result: () async throws -> String) async {
        do {
            print(kind, try await result())
        } catch {
            print(kind, "error", (error as? URLError)?.code.rawValue ?? 0)
        }
    }
}

/// A delegate that collects the body of one task.
private final class Receiver: NSObject, URLSessionDataDelegate {
    private struct State {
        var data = Data()
        var caller: CheckedContinuation<(Data, URLResponse), any Error>?
    }

    private let state = Mutex(State())

    func content(of task: URLSessionDataTask) async throws -> (Data, URLResponse) {
        try await withCheckedThrowingContinuation { caller in
            state.withLock { $0.caller = caller }
            task.resume()
        }
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        state.withLock { $0.data += data }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (data, caller) = state.withLock { ($0.data, $0.caller) }
        guard let response = task.response, error == nil else {
            caller?.resume(throwing: error ?? URLError(.unknown))
            return
        }
        caller?.resume(returning: (data, response))
    }
}
#else
/// The program without the package trait `NIO`, which brings the proxy.
@main
struct SessionProbe {
    static func main() { fatalError("built without the trait NIO") }
}
#endif
