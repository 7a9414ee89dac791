// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSMonitor
internal import HTTPDNSPrimitives
internal import Logging

/// The handler of requests, apart from the socket's thread.
struct ControlRequestHandler: Sendable {
    let client: HTTPDNSClient
    /// The monitor whose records peers may read; nil for none.
    let monitor: HTTPDNSTrafficMonitor?
    let timeSource: any TimeSource
    let logger: Logger?

    /// Performs a request other than a watch. It waits for nothing but short locks.
    func answer(to request: ControlRequest) -> ControlReply {
        var answer = ControlReply(to: request.word)
        switch request.command {
        case .ping:
            answer.identity = ControlReply.Identity(
                processIdentifier: Int(getpid()),
                library: LibraryVersion.current,
                protocolVersions: [ControlProtocol.version]
            )
        case .dump(let selection), .watch(_, let selection):
            answer.diagnostics = client.status(limit: selection.limit, names: selection.names)
        case .turn(let isOn, let route):
            return turn(isOn, route, answer)
        case .records(let selection):
            guard let monitor else { return ControlReply(to: request.word, .noMonitor) }
            answer.records = selection.result(among: monitor.records)
        case .refresh(let names):
            let refresh = client.resolver.refresh(names, limit: ControlProtocol.maximumRefresh)
            answer.refresh = ControlReply.Refresh(asked: refresh.asked, isTruncated: refresh.isTruncated)
        }
        return answer
    }

    /// Reports every event, and a dump at an interval, until the client or the task ends.
    func watch(
        every interval: Duration,
        _ selection: ControlRequest.Selection,
        tell: @escaping @Sendable (ControlReply) -> Void
    ) async {
        let request = ControlRequest(.watch(interval: interval, selection))
        // Listening begins before the first dump, so that no event is missed in between.
        var events = client.resolver.events.makeAsyncIterator()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                repeat { tell(answer(to: request)) } while await hasSlept(interval)
            }
            while let event = await events.next() {
                if let names = selection.names, let host = event.host, !names.contains(where: { $0.contains(host) }) {
                    continue
                }
                var reply = ControlReply(to: request.word)
                reply.event = ControlEvent(event)
                tell(reply)
            }
            group.cancelAll()
        }
        guard !Task.isCancelled else { return }
        tell(ControlReply(to: request.word, ControlFault(.shutDown, "the client is shut down")))
    }

    private func hasSlept(_ interval: Duration) async -> Bool {
        (try? await timeSource.sleep(until: timeSource.now() + interval)) != nil
    }

    /// Logs that a peer without permission was refused.
    func noteStranger(_ user: uid_t?) {
        guard let logger else { return }
        // Not on the socket's thread: the log handler is user code.
        Task.detached {
            logger.warning("control socket refused a peer", metadata: ["uid": "\(user.map { "\($0)" } ?? "unknown")"])
        }
    }

    /// Turns the switch, unless no name uses the pattern: such a pattern is misspelled.
    private func turn(_ isOn: Bool, _ route: HTTPDNSRoute.Pattern?, _ answer: ControlReply) -> ControlReply {
        let before = client.status(limit: 1, names: route.map { [$0] })
        let routes = before.routes.map(\.pattern)
        if let route {
            let turned = before.killSwitch.entries.compactMap(\.route)
            guard before.mappings.rules.count > 0 || (routes + turned).contains(route.description) else {
                return ControlReply(to: answer.command, .unknownRoute(route, routes: routes))
            }
        }
        turn(isOn, route)
        var answer = answer
        let killSwitch = client.status(limit: 0).killSwitch
        answer.killSwitch = killSwitch
        if !isOn, let route, killSwitch.isOn {
            let turnedOff = killSwitch.entries.compactMap(\.route)
            let closer = routes.filter { !turnedOff.contains($0) && Self.isCloser($0, than: route) }
            answer.staysOn = closer.isEmpty ? nil : closer
        }
        return answer
    }

    /// Returns whether the pattern of a route decides about names that `pattern` covers too.
    private static func isCloser(_ route: String, than pattern: HTTPDNSRoute.Pattern) -> Bool {
        guard let zone = (try? HTTPDNSRoute.Pattern(route))?.zone, route != pattern.description else { return false }
        return pattern.contains(zone)
    }

    private func turn(_ isOn: Bool, _ route: HTTPDNSRoute.Pattern?) {
        let scope = route.map(HTTPDNSResolver.KillSwitch.Scope.route) ?? .everything
        if isOn {
            client.killSwitch.turnOn(scope, by: .socket)
        } else {
            client.killSwitch.turnOff(scope, by: .socket)
        }
        // The resolver reports turns that changed something; this logs the peer and its request.
        logger?.notice(
            "kill switch through the control socket",
            metadata: ["state": isOn ? "on" : "off", "scope": "\(scope)"]
        )
    }
}
