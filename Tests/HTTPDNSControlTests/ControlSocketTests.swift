// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSMonitor
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSControl

struct ControlSocketTests {
    private static let ping = #"{"version":1,"command":"ping"}"# + "\n"

    @Test("The ping command identifies the service")
    func ping() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        let identity = try await rig.call().ask(ControlRequest(.ping)).identity
        #expect(identity?.processIdentifier == Int(getpid()))
        #expect(identity?.library == LibraryVersion.current && identity?.protocolVersions == [1])
        await socket.shutdown()
    }

    @Test("A dump has answers, mappings and providers, or only the requested ones")
    func dump() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        _ = try await rig.client.resolve("one.test")
        let call = try rig.call()
        let all = try #require(try await call.ask(ControlRequest(.dump(.init()))).diagnostics)
        #expect(all.cache.answers.map(\.host) == ["one.test"])
        #expect(all.mappings.rules.map(\.key) == ["map.test"])
        #expect(all == rig.client.status())
        let other = ControlRequest(.dump(.init(names: [try HTTPDNSRoute.Pattern("map.test")])))
        let filtered = try #require(try await call.ask(other).diagnostics)
        #expect(filtered.cache.answers.isEmpty && filtered.mappings.rules.count == 1)
        await socket.shutdown()
    }

    @Test("Records are those of the service's monitor, and without one there are none")
    func records() async throws {
        let rig = try await ControlRig()
        let bare = try rig.open()
        let fault = await #expect(throws: ControlCallError.self) {
            try await rig.call().ask(ControlRequest(.records(.init())))
        }
        #expect(fault?.fault == "no-monitor" && fault?.hint?.contains("monitor") == true)
        await bare.shutdown()

        let monitor = HTTPDNSTrafficMonitor()
        monitor.start(on: rig.client)
        let socket = try HTTPDNSControlSocket(client: rig.client, path: rig.path, monitor: monitor)
        let call = try rig.call()
        #expect(try await call.ask(ControlRequest(.records(.init()))).records == .init(calls: [], last: nil, stored: 0))
        let server = try RawServer(.serve("hello"))
        let url = "http://map.test:\(server.port)/?token=s3same"
        _ = try await rig.client.get(url) { $0.addresses = .only(["127.0.0.1"]) }
        let records = try #require(try await call.ask(ControlRequest(.records(.init()))).records)
        #expect(records.calls == monitor.records && records.stored == 1 && records.calls.count == 1)
        #expect(records.last == monitor.records.first?.callID)
        #expect(records.calls.first?.status == 200 && records.calls.first?.url.contains("s3same") == false)
        await socket.shutdown()
    }

    /// The origin of the turn is the socket.
    @Test("A call turns the kill switch off and on, for everything and for one route")
    func killSwitch() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        let call = try rig.call()
        let off = try await call.ask(ControlRequest(.turn(isOn: false, route: nil))).killSwitch
        #expect(off?.isOn == false && off?.entries.map(\.origin) == ["socket"])
        #expect(!rig.client.killSwitch.isOn)
        let route = try HTTPDNSRoute.Pattern("*.test")
        let both = try await call.ask(ControlRequest(.turn(isOn: false, route: route))).killSwitch
        #expect(both?.entries.map(\.route) == [nil, "*.test"])
        let on = try await call.ask(ControlRequest(.turn(isOn: true, route: nil))).killSwitch
        #expect(on?.isOn == true && on?.entries.map(\.route) == ["*.test"])
        #expect(rig.client.killSwitch.entries.map(\.scope) == [.route(route)])
        await socket.shutdown()
    }

    @Test("A refresh queries cached names again without removing their answers")
    func refresh() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        _ = try await rig.client.resolve("one.test")
        rig.provider.hold()
        let call = try rig.call()
        let refresh = try await call.ask(ControlRequest(.refresh(nil))).refresh
        #expect(refresh == ControlReply.Refresh(asked: 1, isTruncated: false))
        // The one that is under way is not asked for a second time.
        #expect(try await call.ask(ControlRequest(.refresh(nil))).refresh?.asked == 0)
        #expect(try await rig.client.resolve("one.test").isCached)
        let others = ControlRequest(.refresh([try HTTPDNSName("two.test")]))
        #expect(try await call.ask(others).refresh?.asked == 0)
        await rig.provider.queries(atLeast: 2)
        #expect(rig.provider.queries.map(\.host.description) == ["one.test", "one.test"])
        rig.provider.release()
        await socket.shutdown()
    }

    /// It ends with the client.
    @Test("A watch sends snapshots at its interval and events as they happen")
    func watch() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        let call = try rig.call()
        try await call.send(ControlRequest(.watch(interval: .seconds(5), .init())))
        let first = try #require(try await call.next()?.diagnostics)
        #expect(first.cache.entries == 0)
        _ = try await rig.client.resolve("one.test")
        var event = try await call.next()?.event
        // The provider's first query and the answer: the order of others does not matter.
        while event?.event != "answered" { event = try await call.next()?.event }
        #expect(event?.host == "one.test" && event?.addresses == ["203.0.113.1"])
        await rig.clock.sleepers(atLeast: 1)
        rig.clock.advance(by: .seconds(5))
        var second = try await call.next()
        while second?.diagnostics == nil { second = try await call.next() }
        #expect(second?.diagnostics?.cache.answers.map(\.host) == ["one.test"])
        try await rig.client.shutdown()
        let error = await #expect(throws: ControlCallError.self) { while try await call.next() != nil {} }
        #expect(error?.fault == "shut-down")
        await socket.shutdown()
    }

    @Test("A watch of names reports no events of other names")
    func watchedNames() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        let call = try rig.call()
        let names = [try HTTPDNSRoute.Pattern("two.test")]
        try await call.send(ControlRequest(.watch(interval: .seconds(5), .init(names: names))))
        #expect(try await call.next()?.diagnostics != nil)
        _ = try await rig.client.resolve("one.test")
        _ = try? await rig.client.resolve("two.test")
        var hosts: [String] = []
        while hosts.last != "two.test", let event = try await call.next()?.event {
            if let host = event.host { hosts.append(host) }
        }
        #expect(hosts == ["two.test"])
        await socket.shutdown()
    }

    @Test("The socket file has mode 0600 from the start and is removed at shutdown")
    func file() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        var status = stat()
        #expect(lstat(rig.path, &status) == 0)
        #expect(status.st_mode & S_IFMT == S_IFSOCK)
        #expect(status.st_mode & 0o777 == 0o600)
        #expect(try rig.folder.names == ["control.sock"])
        await socket.shutdown()
        #expect(try rig.folder.names.isEmpty)
        await socket.shutdown()
    }

    @Test("A socket file without a listener is replaced")
    func stale() async throws {
        let rig = try await ControlRig()
        // As a killed process leaves it behind: bound, and closed.
        let left = try UnixSocketAddress.newSocket(isBlocking: false)
        try #require(UnixSocketAddress(path: rig.path)).bind(left)
        close(left)
        #expect(throws: ControlCallError.self) { try rig.call() }
        let socket = try rig.open()
        #expect(try await rig.call().ask(ControlRequest(.ping)).identity != nil)
        await socket.shutdown()
    }

    @Test("A socket file with a listener, or a file that is no socket, is not replaced")
    func occupied() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        let inUse = #expect(throws: HTTPDNSControlSocketError.self) { try rig.open() }
        #expect(inUse?.code == .inUse)
        #expect(try await rig.call().ask(ControlRequest(.ping)).identity != nil)
        let file = rig.folder.path("notes")
        try Data("notes".utf8).write(to: URL(filePath: file))
        let occupied = #expect(throws: HTTPDNSControlSocketError.self) {
            try HTTPDNSControlSocket(client: rig.client, path: file)
        }
        #expect(occupied?.code == .occupied)
        #expect(FileManager.default.contents(atPath: file) == Data("notes".utf8))
        let link = rig.folder.path("link")
        symlink(rig.path, link)
        #expect(throws: HTTPDNSControlSocketError.self) { try HTTPDNSControlSocket(client: rig.client, path: link) }
        await socket.shutdown()
    }

    /// Meanwhile operators cannot connect, and the client goes on.
    @Test("After its file is deleted, the control socket can be opened again")
    func deleted() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        unlink(rig.path)
        #expect(throws: ControlCallError.self) { try rig.call() }
        #expect(try await rig.client.resolve("map.test").source == .mapping)
        await socket.shutdown()
        let again = try rig.open()
        #expect(try await rig.call().ask(ControlRequest(.ping)).identity != nil)
        await again.shutdown()
    }

    /// A second close would end whatever another thread has opened in between.
    @Test("A call that cannot connect closes its descriptor once")
    func closesOnce() async throws {
        let rig = try await ControlRig()
        let left = try UnixSocketAddress.newSocket(isBlocking: false)
        try #require(UnixSocketAddress(path: rig.path)).bind(left)
        close(left)
        let over = Gate()
        let closedByOthers = await withTaskGroup(of: Int.self) { group in
            group.addTask {
                var count = 0
                while !over.isOpen {
                    let descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)
                    await Task.yield()
                    if fcntl(descriptor, F_GETFD) < 0 { count += 1 } else { close(descriptor) }
                }
                return count
            }
            group.addTask {
                for _ in 0..<20_000 { _ = try? rig.call() }
                over.open()
                return 0
            }
            return await group.reduce(0, +)
        }
        #expect(closedByOthers == 0)
        #expect(throws: ControlCallError.self) { try rig.call() }
    }

    @Test("At its end the socket leaves another file at its path alone")
    func replaced() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        unlink(rig.path)
        let other = try rig.open()
        await socket.shutdown()
        #expect(try await rig.call().ask(ControlRequest(.ping)).identity != nil)
        await other.shutdown()
        #expect(try rig.folder.names.isEmpty)
    }

    @Test("Of ten concurrent attempts to open the socket one succeeds")
    func storm() async throws {
        let rig = try await ControlRig()
        let left = try UnixSocketAddress.newSocket(isBlocking: false)
        try #require(UnixSocketAddress(path: rig.path)).bind(left)
        close(left)
        let opened = await withTaskGroup(of: HTTPDNSControlSocket?.self) { group in
            for _ in 0..<10 { group.addTask { try? rig.open() } }
            return await group.reduce(into: [HTTPDNSControlSocket]()) { if let socket = $1 { $0.append(socket) } }
        }
        #expect(opened.count == 1)
        // The others' looks at it may still take up its connections.
        var served: ControlReply?
        while served == nil { served = try? await rig.call().ask(ControlRequest(.ping)) }
        for socket in opened { await socket.shutdown() }
    }

    @Test(
        "An impossible path is refused with advice",
        arguments: [
            ("", "invalid-path"), ("/tmp/" + String(repeating: "a", count: 103), "invalid-path"),
            ("/tmp/a\u{0}b", "invalid-path"),
            ("/nowhere/at/all.sock", "system-error"), ("/proc/control.sock", "system-error"),
        ]
    )
    func badPath(path: String, code: String) async throws {
        let rig = try await ControlRig()
        let error = #expect(throws: HTTPDNSControlSocketError.self) {
            try HTTPDNSControlSocket(client: rig.client, path: path)
        }
        #expect(error?.code.description == code, "\(error.map { "\($0)" } ?? "-")")
        #expect(error?.description.contains("\n") == false)
    }

    @Test("The ninth connection is refused with a reply, and served once one has ended")
    func tooMany() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        var calls: [ControlCall] = []
        for _ in 0..<8 {
            let call = try rig.call()
            _ = try await call.ask(ControlRequest(.ping))
            calls.append(call)
        }
        let error = await #expect(throws: ControlCallError.self) { try await rig.call().ask(ControlRequest(.ping)) }
        #expect(error?.fault == "too-many-connections")
        calls.removeLast()
        // The service sees the end in its own time.
        var served: ControlReply?
        while served == nil { served = try? await rig.call().ask(ControlRequest(.ping)) }
        #expect(served?.identity != nil)
        await socket.shutdown()
    }

    @Test("A requested turn of the switch happens even when no caller awaits the reply")
    func hangUp() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        do {
            let connection = try BareConnection(rig.path)
            connection.send(#"{"version":1,"command":"switch","state":"off"}"# + "\n")
        }
        while rig.client.killSwitch.isOn, !Task.isCancelled { await Task.yield() }
        await socket.shutdown()
    }

    @Test("A watcher that disconnects leaves no listener behind")
    func listeners() async throws {
        let rig = try await ControlRig()
        let socket = try rig.open()
        do {
            let call = try rig.call()
            try await call.send(ControlRequest(.watch(interval: .seconds(5), .init())))
            _ = try await call.next()
            #expect(rig.client.resolver.listenerCount == 1)
        }
        while rig.client.resolver.listenerCount > 0, !Task.isCancelled { await Task.yield() }
        await socket.shutdown()
    }

    /// Dropping the socket does the same.
    @Test("A shutdown closes all connections, those of watchers too", arguments: [false, true])
    func end(drops: Bool) async throws {
        let rig = try await ControlRig()
        var socket: HTTPDNSControlSocket? = try rig.open()
        let call = try rig.call()
        try await call.send(ControlRequest(.watch(interval: .seconds(5), .init())))
        _ = try await call.next()
        if !drops { await socket?.shutdown() }
        socket = nil
        #expect(try await call.next() == nil)
        while try !rig.folder.names.isEmpty, !Task.isCancelled { await Task.yield() }
        #expect(throws: ControlCallError.self) { try rig.call() }
    }

    @Test("Only the service's user and root may connect")
    func peers() {
        #expect(Peer(userID: 0).mayControl(serviceOf: 1000))
        #expect(Peer(userID: 1000).mayControl(serviceOf: 1000))
        #expect(!Peer(userID: 1001).mayControl(serviceOf: 1000))
        #expect(!Peer(userID: 1000).mayControl(serviceOf: 0))
    }
}
