from ._compare import compare as compare
from ._comparison import Comparison as Comparison
from ._fit import fit as fit
from ._likelihood_fit import LikelihoodFit as LikelihoodFit
from ._response import Response as Response, Weight as Weight
from ._response_analysis import response as response
