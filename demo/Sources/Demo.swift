// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation
internal import ServerRig

/// A demo of the main features on real servers of its own, step by step, with a verdict for each step.
///
/// Every figure comes from the run; the origins' logs are the proof. It needs no internet.
@main
struct Demo {
    static func main() async {
        let screen = Screen()
        let started = ContinuousClock.now
        do {
            let stage = try await DemoStage.prepare(screen)
            let status = await play(on: stage, screen, since: started)
            try await stage.rig.stop()
            exit(status)
        } catch {
            screen.line("\(screen.red("failed:")) \(error)")
            exit(1)
        }
    }

    private static func play(on stage: DemoStage, _ screen: Screen, since started: ContinuousClock.Instant) async
        -> Int32
    {
        let steps: [any DemoStep] = [
            UnknownName(), UsualTrick(), PinnedFetch(), MoveUnderLoad(), SilentAddress(), StoppedProvider(),
            LyingProvider(), KillSwitchTurned(), CommandRun(),
        ]
        var held = 0
        var total = DemoOutcome(held: true)
        for (number, step) in zip(1..., steps) {
            screen.heading(number, step.title(on: stage))
            do {
                let outcome = try await step.play(on: stage, screen)
                total.requests += outcome.requests
                total.lost += outcome.lost
                if outcome.held { held += 1 } else { screen.detail(screen.red("did not hold")) }
            } catch {
                screen.detail("\(screen.red("did not hold:")) \(error)")
            }
        }
        let wrongHost = stage.requestsUnderAnotherName()
        let seconds = String(format: "%.1f", (ContinuousClock.now - started) / .seconds(1))
        let summary =
            "\(held) of \(steps.count) held.  requests \(total.requests)   lost \(total.lost)   "
            + "wrong host \(wrongHost.map(String.init) ?? "unknown")   \(seconds) s"
        let good = held == steps.count && total.lost == 0 && wrongHost == 0
        screen.line("\n" + screen.bold(good ? summary : screen.red(summary)))
        screen.line(
            "your turn:   \(stage.shownResolveTest) explain https://img.shop.test:8443/ --config demo/httpdns.yaml"
        )
        return good ? 0 : 1
    }
}

/// One step of the demo.
protocol DemoStep: Sendable {
    func title(on stage: DemoStage) -> String
    func play(on stage: DemoStage, _ screen: Screen) async throws -> DemoOutcome
}

/// The counts of a step, and whether everything in it was as expected.
struct DemoOutcome: Sendable {
    var held: Bool
    var requests = 0
    var lost = 0
}
