// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if ServiceLifecycle
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import LifecycleExample
internal import Logging
internal import ServiceLifecycle
internal import Glibc

/// A service in miniature, for tests that send signals to a process of their own:
/// `httpdns-service-probe FILE URL` gets the URL, with its process number as the path, when signals are taken and whenever it
/// has read its file again, which it does not watch. FILE.state has how many reloads failed, and whether the client still
/// takes requests. At the end it prints how each request ended.
@main
struct ServiceProbe {
    static func main() async throws {
        let words = Array(CommandLine.arguments.dropFirst())
        guard words.count == 2 else {
            print("httpdns-service-probe FILE URL")
            return
        }
        var configuration = try HTTPDNSClient.Configuration.file(words[0])
        configuration.watchesFile = false
        let client = try await HTTPDNSClient(configuration: configuration)
        let requests = Requests(client: client, url: "\(words[1])/\(getpid())")
        let state = Task { await showState(of: client, in: "\(words[0]).state") }
        let logger = Logger(label: "probe") { _ in SwiftLogNoOpLogHandler() }
        try await runService(Worker(client: client, requests: requests), with: client, logger: logger)
        state.cancel()
        for end in await requests.ends() { print(end) }
        print("ended")
    }

    /// Nobody tells of these by an event.
    private static func showState(of client: HTTPDNSClient, in path: String) async {
        var shown = ""
        while !Task.isCancelled {
            // A literal asks nobody, and nothing is sent.
            let isOpen = (try? await client.rewrite("http://203.0.113.9/")) != nil
            let state = "\(client.reloads.failures) \(isOpen ? "open" : "closed")"
            if state != shown, let file = fopen("\(path).new", "w") {
                fputs(state, file)
                fclose(file)
                rename("\(path).new", path)
                shown = state
            }
            try? await Task.sleep(for: .milliseconds(5))
        }
    }
}

/// Requests that run beside the services.
private actor Requests {
    private let client: HTTPDNSClient
    private let url: String
    private var running: [Task<String, Never>] = []

    init(client: HTTPDNSClient, url: String) {
        self.client = client
        self.url = url
    }

    func begin() {
        let task = Task { [client, url] in
            do {
                let response = try await client.get(url)
                let body = try await response.body.collect(upTo: .kibibytes(1))
                return "\(response.status.code) \(body.count)"
            } catch {
                return (error as? HTTPDNSClientError)?.code.description ?? "\(error)"
            }
        }
        running.append(task)
    }

    func ends() async -> [String] {
        var ends: [String] = []
        for task in running { ends.append(await task.value) }
        return ends
    }
}

/// Sends, and ends without waiting for its requests: that is what the client's draining is for.
private struct Worker: Service {
    let client: HTTPDNSClient
    let requests: Requests

    func run() async throws {
        let events = client.resolver.events
        var hangUp = sigaction()
        repeat {
            await Task.yield()
            sigaction(SIGHUP, nil, &hangUp)
        } while unsafeBitCast(hangUp.__sigaction_handler.sa_handler, to: UInt.self) == 0
        await requests.begin()
        // It ends by cancellation, which is how the group's graceful shutdown reaches it.
        await cancelWhenGracefulShutdown {
            for await event in events where event.kind == .reloaded { await requests.begin() }
        }
    }
}
#else
/// Without the package trait ServiceLifecycle there is nothing to probe.
@main
struct ServiceProbe {
    static func main() { print("built without the trait ServiceLifecycle") }
}
#endif
