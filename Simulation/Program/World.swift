// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// Everything that a seed decides before a world begins. What it leaves out, such as the response to a call, is drawn when
/// it happens.
struct World {
    /// A name of the world, and the addresses that belong to it and to no other name.
    struct Name {
        var host: String
        var addresses: [HTTPDNSAddress]
        /// Whether providers know it; else it is in the system's name service alone.
        var hasRoute: Bool
        /// Whether the answers of providers are only compared with those of the system.
        var isShadow = false
    }

    struct Call {
        var number: Int
        /// The number in the path of its URL: its own one, or that of an earlier call, whose response it may share.
        var resource: Int
        var start: Duration
        var name: Int
        var isPost: Bool
        /// Whether its body is a stream, which is sent once.
        var isStream = false
        var hasSecret: Bool
        var timeout: Duration?
        var cancelAfter: Duration?

        /// Whether it is made with the second client, in worlds that have one.
        var usesSecondClient: Bool { number % 4 == 3 }
        fileprivate var mayShareResource: Bool { !isPost && !hasSecret && !usesSecondClient }
    }

    /// A change from outside while calls run.
    enum Change {
        case map(name: Int, address: Int)
        /// A request for the name goes to the addresses of another one.
        case via(name: Int, target: Int, usesTargetIdentity: Bool)
        case unmap(name: Int)
        /// Of one name; nil for everything.
        case switchOff(name: Int?)
        case switchOn(name: Int?)
        /// The policy refuses one address of a name from now on.
        case deny(name: Int, address: Int)
        case staleLimit(Duration)
        case retireConnections
        /// The value of the field that the client adds to each request.
        case defaultField(Int)
        /// The settings have one provider alone; nil for both.
        case provider(AnswerSource?)
        /// The settings turn everything off, or on.
        case isEnabled(Bool)
        /// The settings map a name, which other changes may map elsewhere.
        case mapInSettings(name: Int, address: Int)
        /// The settings have other trust settings.
        case trust(Int)
        /// The settings are those of some changes ago, with the same provider objects.
        case rollBack(Int)
        /// Other settings with a mistake of one of several kinds.
        case refusedSettings(Int)
        /// The client is shut down, and another one made with the answers that it has saved.
        case restart
        /// The wall clock is set forward or back.
        case wallClock(Duration)
        /// The process has no descriptor for another socket, or no thread, for some time.
        case lack(Lack, isOver: Bool)
        /// The file system does not answer for some time.
        case filesHang(Duration)
        /// All names are looked up ahead.
        case preresolve
        /// A connection is made ahead.
        case preconnect(name: Int)
        /// What the client reports of itself is read.
        case readStatus

        enum Lack { case sockets, threads }

        /// The number of kinds of mistakes.
        static let mistakes = 6
    }

    struct Event {
        var at: Duration
        var change: Change
    }

    struct Settings {
        var loops = 1
        var retries = false
        var networkWait: Duration = .zero
        var hedges = false
        var ejects = false
        var merges = false
        var keepsCookies = false
        var maximumPerHost: Int?
        var staleLimit: Duration = .seconds(3600)
        var stickiness: Duration = .seconds(30)
        /// Whether two fifths of the responses refuse their request, as those of servers that are drained.
        var drainsServers = false
        var systemFallback = false
        var hasIPv6 = true
        var cachesResponses = false
        /// Whether a call has a time limit for the response head.
        var hasHeadLimit = true
        /// Whether requests go to the loops in turn. Otherwise they stay on the first one: in virtual time no loop is busy.
        var takesLoopsInTurn = false
        /// Whether the system has no thread for another loop.
        var lacksThreads = false
        var hasDefaultField = false
        /// Whether a client of the same settings, with one address less in its policy, makes each fourth call.
        var hasSecondClient = false
        var store = Store.none
        /// Whether the secret of the first name is in a file.
        var hasSecretFile = false
        /// Whether providers answer several names at once.
        var hasBatches = false
        /// The providers that are real, and how their services are asked.
        var providers: [AnswerSource: ModelService.Kind] = [:]
        /// Whether records of type HTTPS are asked for.
        var usesHTTPSRecords = false
        /// Whether the other provider is asked before a negative answer is used.
        var wantsSecondOpinion = false
        /// Whether the provider that answers fastest is asked first.
        var asksFastest = false
        /// Whether the client's network is sent to providers.
        var hasClientSubnet = false
        /// The share of the names that the routes apply to.
        var rollout: Double?
        var connecting = Connecting()
        var proxy: ModelProxy?
        /// Whether the system has no further threads for some time.
        var losesThreads = false

        /// Whether a loop beside the first one may get no thread.
        var mayLackThreads: Bool { lacksThreads || losesThreads }

        enum Store { case none, memory, file }
    }

    let seed: UInt64
    var settings = Settings()
    var names: [Name] = []
    var calls: [Call] = []
    var events: [Event] = []
    /// In a world whose servers and providers are well.
    var overload: Overload?
    /// Whether each call begins when the one before has ended: then all variants have the same outcomes.
    var isSequential = false
    /// Whether its calls have the same outcomes under each schedule. A loop notices a time limit up to 1 ms late, by when it woke
    /// before, and which of several loops probes is a matter of the schedule.
    var isComparable: Bool { isSequential && !(settings.loops > 1 && settings.connecting.probes) }
    /// Whether the time between such calls is seconds, so that some denials of names are older than they may be.
    var isSlow = false

    /// A world whose only fault is that there are too many calls.
    init(overloaded seed: UInt64, calls callCount: Int) {
        self.seed = seed
        let overload = Overload(seed: seed, calls: callCount)
        self.overload = overload
        settings.hasIPv6 = true
        settings.hasHeadLimit = false
        for index in 0..<overload.nameCount {
            let addresses = [v6Address(name: index, last: 0)]
            names.append(Name(host: "n\(index).test", addresses: addresses, hasRoute: true))
        }
        let spacing = Duration.seconds(1 / (overload.capacity * overload.load))
        var at = Duration.zero
        for number in 0..<callCount {
            var own = Draw(seed, "call \(number)")
            at += own.time(.zero, spacing * 2)
            calls.append(
                Call(
                    number: number,
                    resource: number,
                    start: at,
                    name: overload.nameCount < callCount ? own.below(overload.nameCount) : number,
                    isPost: own.happens(20),
                    hasSecret: false,
                    timeout: overload.timeout
                )
            )
        }
    }

    init(seed: UInt64, calls callCount: Int) {
        self.seed = seed
        var draw = Draw(seed, "world")
        settings.loops = draw.pick([1, 1, 2, 4])
        settings.retries = draw.happens(60)
        settings.networkWait = draw.happens(15) ? .seconds(2) : .zero
        settings.hedges = draw.happens(30)
        settings.ejects = draw.happens(30)
        settings.merges = draw.happens(50)
        settings.keepsCookies = draw.happens(40)
        settings.maximumPerHost = draw.happens(40) ? 1 + draw.below(6) : nil
        settings.staleLimit = draw.pick([.zero, .seconds(2), .seconds(3600)])
        settings.stickiness = draw.pick([.zero, .seconds(1), .seconds(30)])
        settings.systemFallback = draw.happens(50)
        settings.hasIPv6 = draw.happens(50)
        settings.cachesResponses = draw.happens(25)
        var more = Draw(seed, "more settings")
        settings.hasHeadLimit = more.happens(50)
        settings.takesLoopsInTurn = more.happens(50)
        settings.lacksThreads = more.happens(20) && settings.loops > 1
        settings.hasDefaultField = more.happens(50)
        // It would get no thread at all.
        settings.hasSecondClient = more.happens(25) && !settings.lacksThreads
        settings.store = more.pick([.none, .none, .memory, .memory, .file])
        settings.hasSecretFile = more.happens(40)
        var services = Draw(seed, "services")
        for source in [AnswerSource.a, .b] {
            settings.providers[source] = services.pick([.model, .model, .messages, .json])
        }
        settings.connecting = Connecting(seed: seed)
        settings.proxy = ModelProxy(seed: seed)
        settings.usesHTTPSRecords = services.happens(15)
        settings.wantsSecondOpinion = services.happens(20)
        settings.asksFastest = services.happens(30)
        settings.hasClientSubnet = services.happens(30)
        settings.rollout = services.happens(15) ? 60 : nil
        settings.losesThreads = more.happens(15) && !settings.lacksThreads && !settings.hasSecondClient

        let nameCount = 2 + draw.below(14)
        for index in 0..<nameCount {
            var addresses: [HTTPDNSAddress] = []
            for last in 0..<4 {
                addresses.append(
                    draw.happens(25)
                        ? v6Address(name: index, last: last)
                        : HTTPDNSAddress(v4: 203, 0, 113, UInt8(index * 4 + last + 1))
                )
            }
            var name = Name(host: "n\(index).test", addresses: addresses, hasRoute: draw.happens(85))
            var mode = Draw(seed, "mode \(index)")
            name.isShadow = name.hasRoute && mode.happens(10)
            names.append(name)
        }
        // Some worlds are busy, some have long pauses in which answers and connections get old.
        let spacing: Duration = draw.pick([.microseconds(200), .milliseconds(2), .milliseconds(40), .milliseconds(400)])
        isSequential = spacing == .milliseconds(400)
        var slow = Draw(seed, "slow")
        isSlow = isSequential && slow.happens(40)
        // A call stays on a warm address that the newest answer lacks, where nothing else chooses the address.
        var drained = Draw(seed, "drained servers")
        if isSequential, !isSlow, drained.happens(80) {
            (settings.drainsServers, settings.stickiness, settings.hedges) = (true, .seconds(30), false)
            (settings.connecting.selection, settings.proxy, settings.retries) = (.automatic, nil, false)
        }
        // All connections of a call are those of one request, whose times have bounds.
        if isSequential, slow.happens(40) {
            (settings.retries, settings.hedges, settings.systemFallback) = (false, false, false)
            (settings.networkWait, settings.proxy) = (.zero, nil)
            (settings.connecting.warmsBeforeMoving, settings.connecting.probes) = (false, false)
        }
        var at = Duration.zero
        for number in 0..<callCount {
            var own = Draw(seed, "call \(number)")
            at += own.time(.zero, isSlow ? .seconds(8) : spacing * 2)
            var call = Call(
                number: number,
                resource: number,
                start: at,
                name: own.below(nameCount),
                isPost: own.happens(20),
                hasSecret: own.happens(30),
                timeout: own.happens(40) ? own.time(.milliseconds(2), .milliseconds(900)) : nil,
                cancelAfter: own.happens(6) ? own.time(.microseconds(50), .milliseconds(80)) : nil
            )
            // As soon as it begins: between any two of its first steps.
            var canceling = Draw(seed, "cancellation \(number)")
            if call.cancelAfter != nil, canceling.happens(30), !isSequential { call.cancelAfter = .zero }
            var body = Draw(seed, "body \(number)")
            call.isStream = call.isPost && body.happens(40)
            var shared = Draw(seed, "resource of call \(number)")
            let other = number - 1 - shared.below(3)
            if shared.happens(20), other >= 0, call.mayShareResource, calls[other].mayShareResource {
                call.resource = calls[other].resource
                call.name = calls[other].name
            }
            calls.append(call)
        }
        for number in 0..<draw.below(8) {
            var own = Draw(seed, "event \(number)")
            let moment = own.time(.zero, at)
            let name = own.below(nameCount)
            let address = own.below(4)
            switch own.below(7) {
            case 0: events.append(Event(at: moment, change: .map(name: name, address: address)))
            case 1:
                events.append(Event(at: moment, change: .map(name: name, address: address)))
                events.append(Event(at: moment + own.time(.zero, at), change: .unmap(name: name)))
            case 2:
                events.append(Event(at: moment, change: .switchOff(name: nil)))
                events.append(Event(at: moment + own.time(.zero, at / 4), change: .switchOn(name: nil)))
            case 3: events.append(Event(at: moment, change: .deny(name: name, address: address)))
            case 4:
                events.append(Event(at: moment, change: .staleLimit(own.pick([.zero, .seconds(5), .seconds(7200)]))))
            default: events.append(Event(at: moment, change: .retireConnections))
            }
        }
        // Answers that live long outlast several reloads.
        for number in 0..<3 {
            var own = Draw(seed, "reload \(number)")
            let limit = own.pick([Duration.zero, .seconds(5), .seconds(7200)])
            events.append(Event(at: own.time(.zero, at), change: .staleLimit(limit)))
        }
        // While a provider is down, the switch is turned off when a call has timed out and its lookup goes on.
        var outage = Draw(seed, "outage")
        let late = calls.indices.filter { World.isDown("a", in: seed, at: calls[$0].start) }
        for _ in 0..<8 where !late.isEmpty && outage.happens(50) {
            let index = outage.pick(late)
            let timeout = outage.time(.milliseconds(5), .milliseconds(30))
            calls[index].timeout = timeout
            let off = calls[index].start + timeout + outage.time(.zero, .milliseconds(20))
            events.append(Event(at: off, change: .switchOff(name: nil)))
            events.append(Event(at: off + outage.time(.zero, .milliseconds(300)), change: .switchOn(name: nil)))
        }
        var vias = Draw(seed, "via")
        for number in 0..<vias.below(4) {
            var own = Draw(seed, "via \(number)")
            let target = 1 + own.below(nameCount - 1)
            // Always to a name behind: the chains have no circle.
            let name = own.below(target)
            let via = Change.via(name: name, target: target, usesTargetIdentity: own.happens(30))
            events.append(Event(at: own.time(.zero, at), change: via))
            if own.happens(30) { events.append(Event(at: own.time(.zero, at), change: .unmap(name: name))) }
            let switched = own.pick([name, target, target])
            let off = own.time(.zero, at)
            events.append(Event(at: off, change: .switchOff(name: switched)))
            events.append(Event(at: off + own.time(.zero, at / 3), change: .switchOn(name: switched)))
        }
        var others = Draw(seed, "other settings")
        for number in 0..<others.below(8) {
            var own = Draw(seed, "settings \(number)")
            let moment = own.time(.zero, at)
            let later = moment + own.time(.zero, at / 4)
            switch own.below(9) {
            case 0:
                events.append(Event(at: moment, change: .provider(own.pick([.a, .b, nil]))))
                // A provider that the settings left is shut down by then.
                if own.happens(60) { events.append(Event(at: later, change: .rollBack(1))) }
            // A client in its shutdown takes no settings, and goes on asking.
            case 1 where !settings.hasSecondClient:
                events.append(Event(at: moment, change: .isEnabled(false)))
                events.append(Event(at: later, change: own.happens(50) ? .isEnabled(true) : .rollBack(1)))
            case 2:
                let name = own.below(nameCount)
                events.append(Event(at: moment, change: .mapInSettings(name: name, address: own.below(4))))
            // They need a loop of their own.
            case 3 where !settings.mayLackThreads: events.append(Event(at: moment, change: .trust(1 + number % 7)))
            case 4, 5: events.append(Event(at: moment, change: .refusedSettings(own.below(Change.mistakes))))
            default: events.append(Event(at: moment, change: .rollBack(1 + own.below(2))))
            }
        }
        var restarts = Draw(seed, "restarts")
        var mayRestart = !settings.hasSecondClient && !settings.mayLackThreads
        if mayRestart, isSequential, names.contains(where: \.isShadow) {
            // Whether the last call of a client begins a comparison before the client is shut down is a matter of the schedule.
            var choice = Draw(seed, "restarts or comparisons")
            mayRestart = choice.happens(50)
            if mayRestart { for index in names.indices { names[index].isShadow = false } }
        }
        for _ in 0..<restarts.below(4) where mayRestart {
            events.append(Event(at: restarts.time(.zero, at), change: .restart))
        }
        var clocks = Draw(seed, "clocks")
        for _ in 0..<clocks.below(5) {
            let size: Duration = clocks.pick([.milliseconds(1500), .seconds(200), .seconds(7200), .seconds(100_000)])
            let shift = clocks.happens(50) ? size : .zero - size
            events.append(Event(at: clocks.time(.zero, at), change: .wallClock(shift)))
        }
        var lacks = Draw(seed, "lacks")
        // Files of settings are read while a thread that has read others is left, and when it ends is a matter of the schedule.
        if settings.losesThreads, isSequential { settings.hasSecretFile = false }
        for lack in [Change.Lack.sockets, .threads] where lack == .threads ? settings.losesThreads : lacks.happens(30) {
            for _ in 0...lacks.below(3) {
                let start = lacks.time(.zero, at)
                events.append(Event(at: start, change: .lack(lack, isOver: false)))
                events.append(Event(at: start + lacks.time(.zero, at / 5), change: .lack(lack, isOver: true)))
            }
        }
        for _ in 0..<lacks.below(4) where settings.hasSecretFile {
            events.append(Event(at: lacks.time(.zero, at), change: .filesHang(lacks.time(.zero, .seconds(4)))))
        }
        var ahead = Draw(seed, "ahead")
        settings.hasBatches = ahead.happens(30)
        // Which lookup probes a provider, and which names share a batch, depends on the order in which they begin.
        for _ in 0..<ahead.below(3) where !isSequential {
            events.append(Event(at: ahead.time(.zero, at), change: .preresolve))
        }
        for number in 0..<ahead.below(6) where number % 2 == 1 || !isSequential {
            let change = number % 2 == 0 ? Change.preconnect(name: ahead.below(nameCount)) : .readStatus
            events.append(Event(at: ahead.time(.zero, at), change: change))
        }
        if settings.hasDefaultField {
            for number in 1...3 {
                var own = Draw(seed, "default field \(number)")
                events.append(Event(at: own.time(.zero, at), change: .defaultField(number)))
            }
        }
        events.sort { $0.at < $1.at }
    }

    /// A provider is well or bad for some seconds.
    private static let weather = Duration.seconds(4)

    static func isDown(_ provider: String, in seed: UInt64, at time: Duration) -> Bool {
        var draw = Draw(seed, "provider \(provider) \(Int(time / weather))")
        return draw.happens(15)
    }
}

/// A public address of the family 6.
private func v6Address(name: Int, last: Int) -> HTTPDNSAddress {
    let (high, low) = UInt16(name).quotientAndRemainder(dividingBy: 256)
    let bytes: [UInt8] = [0x24, 0, 0xcb, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(high), UInt8(low), 0, UInt8(last + 1)]
    return HTTPDNSAddress(bytes: bytes) ?? .init(v4: 203, 0, 113, UInt8(name * 4 + last + 1))
}
