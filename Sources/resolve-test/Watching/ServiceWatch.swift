internal import Foundation
internal import HTTPDNS
internal import HTTPDNSControl
internal import HTTPDNSPrimitives

/// A watch of a running service through its control socket: the table of `watch`, with the service's data.
struct ServiceWatch {
    private enum Input: Sendable {
        case reply(ControlReply)
        /// The service sends no more data, or data that is not supported.
        case ended(ControlCallError?)
        case key(Character)
        case timeOver
    }

    let socket: SocketOptions
    /// The patterns of the names to watch; nil for all names of the service.
    let names: [HTTPDNSRoute.Pattern]?
    let interval: Duration
    let ending: Watch.Ending
    let isJSON: Bool
    let isVerbose: Bool
    let console: Console

    /// - Throws: ``CommandFailure``, `ControlCallError`; `CancellationError` when the task is cancelled.
    func run() async throws {
        let call = try socket.call(console.environment)
        let selection = ControlRequest.Selection(names: names)
        try await call.send(ControlRequest(.watch(interval: interval, selection)))
        let (inputs, feed) = AsyncStream<Input>.makeStream()
        let terminal = isJSON ? nil : WatchTerminal(console) { feed.yield(.key($0)) }
        defer { terminal?.restore() }
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask {
                do {
                    while let reply = try await call.next() { feed.yield(.reply(reply)) }
                    feed.yield(.ended(nil))
                } catch {
                    feed.yield(.ended(error as? ControlCallError))
                }
            }
            if let duration = ending.duration {
                group.addTask {
                    guard (try? await Task.sleep(for: duration)) != nil else { return }
                    feed.yield(.timeOver)
                }
            }
            try await follow(inputs, terminal) { [socket, environment = console.environment, names] in
                group.addTask {
                    let hosts = names?.compactMap { if case .exact(let name) = $0 { name } else { nil } }
                    // A failed refresh is visible in the table: no answer becomes newer.
                    _ = try? await socket.call(environment).ask(ControlRequest(.refresh(hosts)))
                }
            }
            group.cancelAll()
        }
        try Task.checkCancellation()
    }

    private func follow(_ inputs: AsyncStream<Input>, _ terminal: WatchTerminal?, refresh: () -> Void) async throws {
        var model = WatchModel([])
        var kinds: [String: String] = [:]
        var looks = 0
        var showsDetails = isVerbose
        for await input in inputs {
            switch input {
            case .reply(let reply):
                let time = SystemTimeSource().now()
                if let diagnostics = reply.diagnostics {
                    let look = ServiceLook(diagnostics: diagnostics, time: time)
                    kinds = look.providerKinds
                    looks += 1
                    try tell(model.take(look, at: Date()), kinds, terminal)
                }
                if let event = reply.event?.resolverEvent(at: time) {
                    try tell(model.take(event, at: Date()), kinds, terminal)
                }
            case .ended(let error):
                throw error.map { $0 as any Error }
                    ?? CommandFailure.failed(code: "connection-lost", "the service hung up", hint: "it has ended")
            case .key("q"), .timeOver: return
            case .key("r"): refresh()
            case .key("d"): showsDetails.toggle()
            case .key: continue
            }
            try draw(model, kinds, showsDetails: showsDetails, terminal)
            if let count = ending.count, looks >= count { return }
        }
    }

    private func tell(_ notices: [WatchNotice], _ kinds: [String: String], _ terminal: WatchTerminal?) throws {
        guard terminal == nil else { return }
        for notice in notices where isJSON || isVerbose || notice.isWorthShowing {
            let line = isJSON ? notice.json().oneLine : notice.text(providerKinds: kinds, clock: .local)
            try console.standardOutput.write(line + "\n")
        }
    }

    private func draw(
        _ model: WatchModel,
        _ kinds: [String: String],
        showsDetails: Bool,
        _ terminal: WatchTerminal?
    ) throws {
        guard let terminal else { return }
        let table = WatchTable(model: model, providerKinds: kinds, showsDetails: showsDetails)
        let style = console.screen(for: console.standardOutput).style
        try terminal.draw { width, height in
            let keys = style.quiet(String("q quit   r refresh   d details".prefix(width)))
            return [keys] + table.lines(Screen(width: width, style: style), height: height - 1)
        }
    }
}
