// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Plays worlds of hostile origins, providers and operators with the real client in virtual time, and looks for broken
// rules.
//
// usage: httpdns-simulate [--first SEED] [--worlds N] [--calls N] [--seed N]
//     [--for SECONDS] [--part I/N] [--trace] [--until-broken]

internal import CHTTPDNSSimulation
internal import Glibc
@_spi(ExperimentalCustomExecutors) internal import _Concurrency

_createExecutors(factory: ScheduleFactory.self)

sim_fix_process(CommandLine.unsafeArgv)
do {
    exit(simulate(try Arguments(CommandLine.arguments)) ? 0 : 1)
} catch {
    writeError("httpdns-simulate: \(error)")
    exit(2)
}
