"""Beyond the paper: better observers, a better schedule, observers who see a part, and what is given away over time.

Tables
------
observers
    network (two_agents, scale_free), observer (ols, innovations), steps, variance, sampled, standard_error: the error
    variance of one hidden opinion, mean over agents, in units of σ₀²; exact, and over sampled replicates.
schedules
    schedule (t, κt), steps, bias, std, rms, sampled_rms, standard_error, ideal, gain: error of the consensus mode; gain
    is the rms of ρ_t = t over this one's.
partial_observers
    fraction (of agents seen), group (seen, unseen), agents, ratio, low, high: posterior over prior variance, mean and
    range over the agents of the group.
privacy_over_time
    design (fresh, growing, held), steps, information, mu, epsilon, rms_error: what an observer of everything is told of
    the most exposed agent, and how far the consensus mode is from v by then.
exact_vs_sampled
    experiment, quantity, exact, sampled, standard_error, z: every quantity that is known both ways.
"""
